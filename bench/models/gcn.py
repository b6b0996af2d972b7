"""GCN: H <- relu(A H W + b)."""

import torch
from torch import Tensor

from sparse import sparse_product
from workload import Workload


class Gcn:
    def __init__(self, workload: Workload) -> None:
        self.layers, self.parameters = workload.model["layers"], workload.parameters
        self.adjacency, self.transform = workload.adjacency(), workload.transform()

    def __call__(self) -> Tensor:
        hidden = None
        for layer in range(self.layers):
            weight, bias = (self.parameters[f"layers.{layer}.{name}"] for name in ("weight", "bias"))
            projected = self.transform(weight) if hidden is None else hidden @ weight
            hidden = sparse_product(self.adjacency, projected) + bias
            hidden = torch.relu(hidden) if layer + 1 < self.layers else hidden
        return hidden
