"""GCN and GAT as the examples of PyTorch Geometric have them: dense features, edge_index, dropout."""

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import dropout, elu, relu
from torch_geometric.nn import GATConv, GCNConv

from workload import Workload


class GeometricGcn(Module):
    def __init__(self, workload: Workload) -> None:
        super().__init__()
        self.rate, hidden = workload.model["input_dropout"], workload.model["hidden"]
        self.first = GCNConv(workload.features, hidden, cached=True)
        self.second = GCNConv(hidden, workload.classes, cached=True)
        self.inputs, self.edges = dense_inputs(workload)

    def forward(self) -> Tensor:
        hidden = relu(self.first(dropout(self.inputs, self.rate, self.training), self.edges))
        return self.second(dropout(hidden, self.rate, self.training), self.edges)


class GeometricGat(Module):
    def __init__(self, workload: Workload) -> None:
        super().__init__()
        model = workload.model
        self.rate, hidden, heads = model["input_dropout"], model["hidden"], model["heads"]
        self.first = GATConv(workload.features, hidden // heads, heads=heads, dropout=self.rate)
        self.second = GATConv(hidden, workload.classes, heads=model["output_heads"], concat=False, dropout=self.rate)
        self.inputs, self.edges = dense_inputs(workload)

    def forward(self) -> Tensor:
        hidden = elu(self.first(dropout(self.inputs, self.rate, self.training), self.edges))
        return self.second(dropout(hidden, self.rate, self.training), self.edges)


def dense_inputs(workload: Workload) -> tuple[Tensor, Tensor]:
    """Features and the edges in both directions."""
    inputs = workload.inputs.to_dense() if workload.inputs.is_sparse_csr else workload.inputs
    return inputs, torch.cat([workload.edges.T, workload.edges.T.flip(0)], dim=1)


GEOMETRIC = {"gat": GeometricGat, "gcn": GeometricGcn}
