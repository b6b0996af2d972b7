"""GCNII: H <- relu(((1 - alpha) A H + alpha H0) ((1 - beta) I + beta W))."""

import math

import torch
from torch import Tensor

from sparse import sparse_product
from workload import Workload


class Gcnii:
    def __init__(self, workload: Workload) -> None:
        self.config, self.parameters = workload.model, workload.parameters
        if self.config["star"]:
            raise ValueError("only star=false")
        self.adjacency, self.transform = workload.adjacency(), workload.transform()

    def __call__(self) -> Tensor:
        parameters, alpha = self.parameters, self.config["initial"]
        initial = torch.relu(self.transform(parameters["input.weight"]) + parameters["input.bias"])
        hidden = initial
        for layer in range(self.config["layers"]):
            beta = math.log1p(self.config["mapping"] / (layer + 1))
            mixed = (1 - alpha) * sparse_product(self.adjacency, hidden) + alpha * initial
            hidden = torch.relu(torch.addmm(mixed, mixed, parameters[f"layers.{layer}.weight"], beta=1 - beta, alpha=beta))
        return hidden @ parameters["head.weight"] + parameters["head.bias"]
