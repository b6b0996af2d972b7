"""What both sides train: a graph, features, a split, initial weights and settings, as Abyssal's server wrote them."""

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from sparse import normalized_adjacency, register, sparse_product


@dataclass
class Workload:
    nodes: int
    features: int
    classes: int
    model: dict  # settings of the model, by Abyssal's names
    train_settings: dict
    parameters: dict[str, Tensor]
    edges: Tensor  # undirected, each once; shape edges×2
    labels: Tensor
    train: Tensor
    validation: Tensor
    inputs: Tensor  # dense, or CSR
    embedding_bags: bool

    @classmethod
    def read(cls, path: Path, embedding_bags: bool) -> "Workload":
        with safe_open(path, framework="pt") as file:
            header = json.loads(file.metadata()["workload"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        shape = (header["nodes"], header["features"])
        inputs = torch.sparse_csr_tensor(
            tensors["features.offsets"], tensors["features.columns"], tensors["features.values"], shape
        )
        prefix = "parameters."
        return cls(
            nodes=header["nodes"],
            features=header["features"],
            classes=header["classes"],
            model=header["config"]["model"],
            train_settings=header["config"]["train"],
            parameters={
                name.removeprefix(prefix): tensor.requires_grad_()
                for name, tensor in tensors.items()
                if name.startswith(prefix)
            },
            edges=tensors["edges"],
            labels=tensors["labels"],
            train=tensors["train"],
            validation=tensors["validation"],
            inputs=inputs.to_dense() if header["dense"] else inputs,
            embedding_bags=embedding_bags,
        )

    def adjacency(self) -> int:
        """The number of the normalised adjacency matrix for `sparse_product`."""
        return register(normalized_adjacency(self.edges, self.nodes), True, self.embedding_bags)

    def transform(self):
        """A function W -> X @ W."""
        if not self.inputs.is_sparse_csr:
            return lambda weight: self.inputs @ weight
        number = register(self.inputs, False, self.embedding_bags)
        return lambda weight: sparse_product(number, weight)
