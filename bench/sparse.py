"""Sparse products for PyTorch that torch.compile can work with, forward and backward."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn.functional import embedding_bag

# PyTorch says so at every start: CSR tensors are in beta, and their indices are not checked.
warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")

Kernel = Callable[[Tensor], Tensor]


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
    """Backward is a sparse product too, with a transpose that was built once."""
    return None, sparse_product(MATRICES[ctx.matrix].transpose, gradient)


sparse_product.register_autograd(multiply_by_transpose, setup_context=remember_matrix)


def make_kernel(matrix: Tensor, embedding_bags: bool) -> Kernel:
    """The product of a CSR matrix with dense ones."""
    if not embedding_bags:
        return lambda dense: matrix @ dense
    # A row of the product is a weighted sum of rows of the dense matrix, which is what an embedding bag computes;
    # its vectorised kernel is several times faster than the one for CSR tensors.
    offsets, columns, values = matrix.crow_indices()[:-1].clone(), matrix.col_indices(), matrix.values()
    return lambda dense: embedding_bag(columns, dense, offsets, mode="sum", per_sample_weights=values)


def register(matrix: Tensor, symmetric: bool, embedding_bags: bool) -> int:
    """The number of a CSR matrix for `sparse_product`."""
    number = len(MATRICES)
    transpose = number if symmetric else number + 1
    MATRICES.append(SparseMatrix(matrix.shape[0], make_kernel(matrix, embedding_bags), transpose))
    if not symmetric:
        transposed = matrix.to_sparse_coo().t().coalesce().to_sparse_csr()
        MATRICES.append(SparseMatrix(matrix.shape[1], make_kernel(transposed, embedding_bags), number))
    return number


def normalized_adjacency(edges: Tensor, nodes: int) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 of unique undirected edges, as CSR."""
    loops = torch.arange(nodes).expand(2, nodes)
    rows, columns = torch.cat([edges.T, edges.T.flip(0), loops], dim=1)
    scale = torch.bincount(rows, minlength=nodes).float().rsqrt()
    matrix = torch.sparse_coo_tensor(torch.stack([rows, columns]), scale[rows] * scale[columns], (nodes, nodes))
    return matrix.coalesce().to_sparse_csr()
