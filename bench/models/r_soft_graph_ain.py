"""R-SoftGraphAIN, the paper's Algorithm 1."""

import math

import torch
from torch import Tensor

from sparse import sparse_product
from workload import Workload


def center(values: Tensor) -> Tensor:
    return values - values.mean(dim=0)


class RSoftGraphAin:
    def __init__(self, workload: Workload) -> None:
        self.config, self.parameters = workload.model, workload.parameters
        if (self.config["centering"], self.config["head"], self.config["head_layers"]) != ("aggregated", "linear", 1):
            raise ValueError("only centering=aggregated and a linear head of one layer")
        self.adjacency, self.transform = workload.adjacency(), workload.transform()
        hidden, rank = self.config["hidden"], self.config["rank"]
        rank = math.ceil(hidden * rank) if isinstance(rank, float) else rank
        self.remainder = (1 - self.config["strength"]) * torch.eye(hidden)
        self.leading = torch.arange(hidden) >= hidden - rank

    def normalization(self, values: Tensor) -> Tensor:
        """M = a U f(L) U^T + (1 - a) I with B^T B = U L U^T; eigenvalues that are rounding noise are dropped."""
        eigenvalues, eigenvectors = torch.linalg.eigh(values.T @ values)
        floor = eigenvalues[-1].detach() * len(eigenvalues) * torch.finfo(values.dtype).eps
        kept = self.leading & (eigenvalues > floor)
        # The inner `where` keeps the power, and so its derivative, finite where it is not used.
        powers = torch.where(kept, eigenvalues, 1.0) ** (-self.config["exponent"] / 2)
        scaled = eigenvectors * (self.config["strength"] * torch.where(kept, powers, 0.0))
        return torch.addmm(self.remainder, scaled, eigenvectors.T)

    def soft_normalize(self, values: Tensor) -> Tensor:
        if self.config["gradient"] == "full":
            return values @ self.normalization(values)
        with torch.no_grad():
            normalization = self.normalization(values)
        return values @ normalization

    def __call__(self) -> Tensor:
        config, parameters = self.config, self.parameters
        total = config["aggregated"] + config["residual"] + config["initial"]
        alpha, beta, gamma = (config[name] / total for name in ("aggregated", "residual", "initial"))
        projected = self.transform(parameters["layers.0.weight"])
        hidden = torch.relu(self.soft_normalize(center(sparse_product(self.adjacency, projected))))
        last = initial = hidden
        for layer in range(1, config["layers"]):
            aggregated = sparse_product(self.adjacency, hidden @ parameters[f"layers.{layer}.weight"])
            combined = alpha * center(aggregated) + beta * last + gamma * initial
            hidden = torch.relu(self.soft_normalize(combined))
            last = config["residual_memory"] * last + hidden
            initial = initial + config["initial_decay"] ** layer * hidden
        return hidden @ parameters["head.weight"] + parameters["head.bias"]
