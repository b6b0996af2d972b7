"""R-SoftGraphAIN in PyTorch, as fast as we could make it on a CPU: what `compare.py` measures Abyssal against."""

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn.functional import cross_entropy, dropout, embedding_bag

# PyTorch says so at every start: CSR tensors are in beta, and their indices are not checked.
warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")

Kernel = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Epoch:
    """One training step and one evaluation; the loss is the one before the step."""

    seconds: float
    loss: float
    validation_accuracy: float


@dataclass(frozen=True)
class SparseMatrix:
    rows: int
    multiply: Kernel
    transpose: int  # number of the transposed matrix


# torch.compile cannot trace sparse tensors. The operator below hides them: it knows each matrix by its number here.
MATRICES: list[SparseMatrix] = []


@torch.library.custom_op("abyssal_bench::sparse_product", mutates_args=())
def sparse_product(matrix: int, dense: Tensor) -> Tensor:
    return MATRICES[matrix].multiply(dense.contiguous())


@sparse_product.register_fake
def _(matrix: int, dense: Tensor) -> Tensor:
    return dense.new_empty(MATRICES[matrix].rows, dense.shape[1])


# PyTorch passes these by keyword, hence `ctx`.
def remember_matrix(ctx: FunctionCtx, inputs: tuple[int, Tensor], output: Tensor) -> None:
    ctx.matrix = inputs[0]


def multiply_by_transpose(ctx: FunctionCtx, gradient: Tensor) -> tuple[None, Tensor]:
    """Backward is a CSR product too, with a transpose that was built once."""
    return None, sparse_product(MATRICES[ctx.matrix].transpose, gradient)


sparse_product.register_autograd(multiply_by_transpose, setup_context=remember_matrix)


def make_kernel(matrix: Tensor, sparse_product_name: str) -> Kernel:
    """The product of a CSR matrix with dense ones."""
    if sparse_product_name == "csr":
        return lambda dense: matrix @ dense
    # A row of the product is a weighted sum of rows of the dense matrix, which is what an embedding bag computes;
    # its vectorised kernel is several times faster than the one for CSR tensors.
    offsets, columns, values = matrix.crow_indices()[:-1].clone(), matrix.col_indices(), matrix.values()
    return lambda dense: embedding_bag(columns, dense, offsets, mode="sum", per_sample_weights=values)


def register(matrix: Tensor, symmetric: bool, sparse_product_name: str) -> int:
    """The number of a CSR matrix for `sparse_product`."""
    number = len(MATRICES)
    transpose = number if symmetric else number + 1
    MATRICES.append(SparseMatrix(matrix.shape[0], make_kernel(matrix, sparse_product_name), transpose))
    if not symmetric:
        transposed = matrix.to_sparse_coo().t().coalesce().to_sparse_csr()
        MATRICES.append(SparseMatrix(matrix.shape[1], make_kernel(transposed, sparse_product_name), number))
    return number


def normalized_adjacency(edges: Tensor, nodes: int) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 of unique undirected edges, as CSR."""
    loops = torch.arange(nodes).expand(2, nodes)
    rows, columns = torch.cat([edges.T, edges.T.flip(0), loops], dim=1)
    scale = torch.bincount(rows, minlength=nodes).float().rsqrt()
    matrix = torch.sparse_coo_tensor(torch.stack([rows, columns]), scale[rows] * scale[columns], (nodes, nodes))
    return matrix.coalesce().to_sparse_csr()


def center(values: Tensor) -> Tensor:
    return values - values.mean(dim=0)


class Peer:
    """The model of a workload file, with its optimiser."""

    def __init__(self, workload: Path, threads: int, eager: bool, sparse_product_name: str) -> None:
        torch.set_num_threads(threads)
        with safe_open(workload, framework="pt") as file:
            config = json.loads(file.metadata()["config"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        if (config["centering"], config["head"]) != ("aggregated", "linear"):
            raise ValueError("the peer knows centering=aggregated and head=linear only")

        nodes = config["nodes"]
        features = torch.sparse_csr_tensor(
            tensors["features.row_offsets"],
            tensors["features.columns"],
            tensors["features.values"],
            (nodes, config["features"]),
        )
        self.adjacency = register(normalized_adjacency(tensors["edges"], nodes), True, sparse_product_name)
        self.features = register(features, False, sparse_product_name)
        self.labels = tensors["labels"]
        self.train = tensors["train"].nonzero().squeeze(1)
        self.validation = tensors["validation"].nonzero().squeeze(1)

        self.config = config
        self.remainder = (1 - config["strength"]) * torch.eye(config["hidden"])
        self.leading = torch.arange(config["hidden"]) >= config["hidden"] - config["rank"]
        prefix = "parameters."
        self.parameters = {
            name.removeprefix(prefix): tensor.requires_grad_()
            for name, tensor in tensors.items()
            if name.startswith(prefix)
        }
        self.optimizer = torch.optim.Adam(
            self.parameters.values(), lr=config["learning_rate"], weight_decay=config["weight_decay"], fused=True
        )
        # Without fullgraph, a part that cannot be compiled would silently run eagerly.
        self.logits = self.forward if eager else torch.compile(self.forward, fullgraph=True, dynamic=False)

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

    def forward(self, training: bool) -> Tensor:
        """Logits of all nodes (the paper's Algorithm 1)."""
        config, parameters = self.config, self.parameters
        total = config["aggregated"] + config["residual"] + config["initial"]
        alpha, beta, gamma = (config[name] / total for name in ("aggregated", "residual", "initial"))

        projected = sparse_product(self.features, parameters["layers.0.weight"])
        hidden = torch.relu(self.soft_normalize(center(sparse_product(self.adjacency, projected))))
        hidden = dropout(hidden, config["hidden_dropout"], training)
        last = initial = hidden
        for layer in range(1, config["layers"]):
            aggregated = sparse_product(self.adjacency, hidden @ parameters[f"layers.{layer}.weight"])
            combined = alpha * center(aggregated) + beta * last + gamma * initial
            hidden = dropout(torch.relu(self.soft_normalize(combined)), config["hidden_dropout"], training)
            last = config["residual_memory"] * last + hidden
            initial = initial + config["initial_decay"] ** layer * hidden
        return hidden @ parameters["head.weight"] + parameters["head.bias"]

    def epoch(self) -> Epoch:
        start = time.perf_counter()
        self.optimizer.zero_grad()
        loss = cross_entropy(self.logits(True)[self.train], self.labels[self.train])
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            predicted = self.logits(False)[self.validation].argmax(dim=1)
            accuracy = (predicted == self.labels[self.validation]).float().mean().item()
        return Epoch(time.perf_counter() - start, loss.item(), accuracy)
