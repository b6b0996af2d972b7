"""The models in PyTorch, as a good user would write them. Each takes a workload and is called for class scores."""

from models.gat import Gat
from models.gcn import Gcn
from models.gcnii import Gcnii
from models.r_soft_graph_ain import RSoftGraphAin

MODELS = {"gat": Gat, "gcn": Gcn, "gcnii": Gcnii, "r-soft-graph-ain": RSoftGraphAin}
