"""Golden values for the models made for heterophily, computed by PyTorch in float64.

Writes one file a model beside this script, on the problem of `make_golden.py`. To make them again (torch and
torch_geometric are required):

    python make_golden_heterophily.py

FAGCN is made of PyTorch Geometric's FAConv, H2GCN and FSGNN are dense formulas. Weights and the search for seeds are
those of `make_golden_propagation.py`.
"""

from functools import partial
from pathlib import Path

import torch
import torch_geometric
from torch import Tensor
from torch.nn.functional import normalize
from torch_geometric.nn import FAConv

import make_golden
from make_golden import (
    CLASSES, EDGES, FEATURES, HIDDEN, LABELS, NODES, SEED, TRAIN, Parameters, exact, normalized_adjacency, relu, to_text,
)
from make_golden_propagation import EDGE_INDEX, Shapes, call, fit_case, head_shapes, linear

# A hidden unit may be off for every node: its gradients are zero then, and that is right.
make_golden.SMALLEST_GRADIENT = -1.0
STEPS = 2
EPSILON = 0.25


def adjacency() -> Tensor:
    """`A`, without self-loops."""
    matrix = torch.zeros(NODES, NODES, dtype=torch.float64)
    matrix[EDGE_INDEX[0], EDGE_INDEX[1]] = 1.0
    return matrix


def two_hops() -> Tensor:
    """1 where two nodes are exactly two steps apart."""
    one = adjacency()
    near = one + torch.eye(NODES, dtype=torch.float64)
    return ((one @ one > 0) & (near == 0)).double()


def symmetric(matrix: Tensor) -> Tensor:
    """`D^-½ M D^-½`."""
    degrees = matrix.sum(dim=1)
    scale = torch.where(degrees > 0, degrees.rsqrt(), torch.zeros_like(degrees))
    return scale[:, None] * matrix * scale[None, :]


def h2gcn(features: Tensor, parameters: Parameters) -> Tensor:
    rounds = [relu(features @ parameters["input.weight"])]
    for _ in range(STEPS):
        rounds.append(torch.cat([symmetric(hops) @ rounds[-1] for hops in (adjacency(), two_hops())], dim=1))
    return linear(torch.cat(rounds, dim=1), parameters, "head")


def h2gcn_shapes() -> Shapes:
    return {"input.weight": (FEATURES, HIDDEN)} | head_shapes(HIDDEN * (2 ** (STEPS + 1) - 1))


def fagcn(features: Tensor, parameters: Parameters) -> Tensor:
    initial = hidden = relu(linear(features, parameters, "input"))
    for layer in range(STEPS):
        # PyTorch Geometric's left is the one who is heard, its right the one who hears.
        given = {"att_l.weight": parameters[f"layers.{layer}.source"],
                 "att_r.weight": parameters[f"layers.{layer}.target"]}
        layer = FAConv(HIDDEN, eps=EPSILON, add_self_loops=False)
        hidden = call(layer, given, hidden, initial, EDGE_INDEX)
    return linear(hidden, parameters, "head")


def fagcn_shapes() -> Shapes:
    shapes = {"input.weight": (FEATURES, HIDDEN), "input.bias": (1, HIDDEN)}
    for layer in range(STEPS):
        shapes[f"layers.{layer}.source"] = shapes[f"layers.{layer}.target"] = (1, HIDDEN)
    return shapes | head_shapes(HIDDEN)


def fsgnn(features: Tensor, parameters: Parameters) -> Tensor:
    smoothed = [features]
    for step in range(1, STEPS + 1):
        for matrix in (symmetric(adjacency()), normalized_adjacency()):
            smoothed.append(torch.linalg.matrix_power(matrix, step) @ features)
    shares = torch.softmax(parameters["attention"][0], dim=0)
    terms = [
        share * normalize(term @ parameters[f"terms.{index}.weight"], p=2, dim=1)
        for index, (share, term) in enumerate(zip(shares, smoothed))
    ]
    return linear(relu(torch.cat(terms, dim=1)), parameters, "head")


def fsgnn_shapes() -> Shapes:
    terms = 2 * STEPS + 1
    shapes = {f"terms.{index}.weight": (FEATURES, HIDDEN) for index in range(terms)}
    return shapes | {"attention": (1, terms)} | head_shapes(terms * HIDDEN)


def main() -> None:
    generator = torch.Generator().manual_seed(SEED + 1)
    features = exact(torch.randn(NODES, FEATURES, generator=generator, dtype=torch.float64))
    problem = {
        "generator": {"torch": torch.__version__, "torch_geometric": torch_geometric.__version__, "seed": SEED},
        "nodes": NODES,
        "edges": EDGES,
        "features": features.tolist(),
        "labels": LABELS,
        "train": TRAIN,
    }
    steps = {"layers": STEPS, "hidden": HIDDEN}
    cases = [
        fit_case("h2gcn", steps, h2gcn_shapes(), partial(h2gcn, features)),
        fit_case("fagcn", steps | {"initial": EPSILON}, fagcn_shapes(), partial(fagcn, features)),
        fit_case("fsgnn", steps, fsgnn_shapes(), partial(fsgnn, features)),
    ]
    for case in cases:
        path = Path(__file__).parent / f"{case['name']}.json"
        path.write_text(to_text(problem | {"cases": [case]}) + "\n")


if __name__ == "__main__":
    main()
