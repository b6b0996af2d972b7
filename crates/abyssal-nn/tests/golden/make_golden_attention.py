"""Golden values for attention and isomorphism networks, computed by PyTorch Geometric's layers in float64.

Writes `gat.json`, `gin.json` and `backbones.json` beside this script. To make them again (torch and torch_geometric are
the requirements):

    python make_golden_attention.py

The graph, the labels and the checks before anything is written are those of `make_golden.py`.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import torch_geometric
from torch import Tensor
from torch.nn import Linear, ReLU, Sequential
from torch.nn.functional import elu
from torch_geometric.nn import GATConv, GINConv

import make_golden
from make_golden import (CLASSES, EDGES, FEATURES, HIDDEN, LABELS, LAYERS, NODES, SEED, TRAIN, Parameters, center, exact,
                         make_case, relu, to_text)

# A hidden unit of a perceptron may be off for every node: its gradients are zero then, and that is right.
make_golden.SMALLEST_GRADIENT = -1.0
BOTH_WAYS = torch.tensor(sorted({(a, b) for a, b in EDGES} | {(b, a) for a, b in EDGES})).T
Shapes = dict[str, tuple[int, int]]


def run(layer: torch.nn.Module, values: dict[str, Tensor], features: Tensor) -> Tensor:
    """A layer of PyTorch Geometric with these parameters, which stay differentiable."""
    return torch.func.functional_call(layer.double(), values, (features, BOTH_WAYS))


def draw(shapes: Shapes, seed: int) -> Parameters:
    generator = torch.Generator().manual_seed(seed)
    parameters = {}
    for name, shape in shapes.items():
        scale = 0.25 if name.endswith(("bias", "epsilon")) else 1.2 / shape[0] ** 0.5
        parameters[name] = exact(scale * torch.randn(shape, generator=generator, dtype=torch.float64))
    return parameters


def attention(prefix: str, hidden: Tensor, parameters: Parameters, bias: bool, concat: bool) -> Tensor:
    source = parameters[f"{prefix}.source"]
    heads, width = source.shape
    layer = GATConv(hidden.shape[1], width, heads=heads, concat=concat, bias=bias)
    values = {"lin.weight": parameters[f"{prefix}.weight"].T, "att_src": source[None],
              "att_dst": parameters[f"{prefix}.target"][None]}
    if bias:
        values["bias"] = parameters[f"{prefix}.bias"][0]
    return run(layer, values, hidden)


def gat(layers: int, features: Tensor, parameters: Parameters) -> Tensor:
    hidden = features
    for layer in range(layers):
        last = layer == layers - 1
        hidden = attention(f"layers.{layer}", hidden, parameters, bias=True, concat=not last)
        hidden = hidden if last else elu(hidden)
    return hidden


def gat_shapes(layers: int, heads: int, output_heads: int) -> Shapes:
    shapes = {}
    for layer in range(layers):
        last = layer == layers - 1
        inputs = FEATURES if layer == 0 else HIDDEN
        heads_of_layer, width = (output_heads, CLASSES) if last else (heads, HIDDEN // heads)
        shapes[f"layers.{layer}.weight"] = (inputs, heads_of_layer * width)
        shapes[f"layers.{layer}.source"] = shapes[f"layers.{layer}.target"] = (heads_of_layer, width)
        shapes[f"layers.{layer}.bias"] = (1, CLASSES if last else HIDDEN)
    return shapes


def gin(neighbourhood: str, learnt: bool, features: Tensor, parameters: Parameters) -> Tensor:
    hidden = features
    for layer in range(LAYERS - 1):
        prefix, last = f"layers.{layer}", layer == LAYERS - 2
        inner, outer = parameters[f"{prefix}.weight"], parameters[f"{prefix}.outer.weight"]
        perceptron = Sequential(Linear(*inner.shape), ReLU(), Linear(*outer.shape))
        values = {"nn.0.weight": inner.T, "nn.0.bias": parameters[f"{prefix}.bias"][0], "nn.2.weight": outer.T,
                  "nn.2.bias": parameters[f"{prefix}.outer.bias"][0]}
        if learnt:
            values["eps"] = parameters[f"{prefix}.epsilon"][0]
        hidden = run(GINConv(perceptron, train_eps=learnt, aggr=neighbourhood), values, hidden)
        hidden = hidden if last else relu(hidden)
    return hidden


def gin_shapes(learnt: bool) -> Shapes:
    shapes = {}
    for layer in range(LAYERS - 1):
        prefix = f"layers.{layer}"
        shapes[f"{prefix}.weight"] = (FEATURES if layer == 0 else HIDDEN, HIDDEN)
        if learnt:
            shapes[f"{prefix}.epsilon"] = (1, 1)
        shapes[f"{prefix}.bias"] = (1, HIDDEN)
        shapes[f"{prefix}.outer.weight"] = (HIDDEN, CLASSES if layer == LAYERS - 2 else HIDDEN)
        shapes[f"{prefix}.outer.bias"] = (1, CLASSES if layer == LAYERS - 2 else HIDDEN)
    return shapes


def mean_and_map(prefix: str, hidden: Tensor, parameters: Parameters) -> Tensor:
    weight = parameters[f"{prefix}.weight"]
    layer = GINConv(Linear(*weight.shape, bias=False), aggr="mean")
    return run(layer, {"nn.weight": weight.T}, hidden)


Aggregate = Callable[[str, Tensor, Parameters], Tensor]


def two_layers(aggregate: Aggregate, activate: Callable[[Tensor], Tensor], features: Tensor, parameters: Parameters) -> Tensor:
    """Two layers of Fuzzy R-SoftGraphAIN on another backbone; `make_golden.py` has the reference of its layer."""
    config = make_golden.Config()
    total = config.aggregated + config.residual + config.initial
    alpha, beta, gamma = config.aggregated / total, config.residual / total, config.initial / total
    first = activate(make_golden.soft_normalize(center(aggregate("layers.0", features, parameters)), config))
    combined = alpha * center(aggregate("layers.1", first, parameters)) + (beta + gamma) * first
    return activate(make_golden.soft_normalize(combined, config))


def normalized(aggregate: Aggregate, features: Tensor, parameters: Parameters) -> Tensor:
    hidden = two_layers(aggregate, relu, features, parameters)
    return hidden @ parameters["head.weight"] + parameters["head.bias"]


def weightless(features: Tensor, parameters: Parameters) -> Tensor:
    """On SGC: a linear reduction, two steps without weights and activations, a perceptron of two layers."""
    adjacency = make_golden.normalized_adjacency()
    reduced = features @ parameters["input.weight"] + parameters["input.bias"]
    hidden = two_layers(lambda _, hidden, __: adjacency @ hidden, lambda values: values, reduced, parameters)
    hidden = relu(hidden @ parameters["head.1.weight"] + parameters["head.1.bias"])
    return hidden @ parameters["head.weight"] + parameters["head.bias"]


def backbone_shapes(heads: int | None) -> Shapes:
    shapes = {}
    for layer in range(2):
        shapes[f"layers.{layer}.weight"] = (FEATURES if layer == 0 else HIDDEN, HIDDEN)
        if heads is not None:
            shapes[f"layers.{layer}.source"] = shapes[f"layers.{layer}.target"] = (heads, HIDDEN // heads)
    return shapes | {"head.weight": (HIDDEN, CLASSES), "head.bias": (1, CLASSES)}


def weightless_shapes() -> Shapes:
    return {
        "input.weight": (FEATURES, HIDDEN), "input.bias": (1, HIDDEN),
        "head.1.weight": (HIDDEN, HIDDEN), "head.1.bias": (1, HIDDEN),
        "head.weight": (HIDDEN, CLASSES), "head.bias": (1, CLASSES),
    }


def fit_case(name: str, config: dict, shapes: Shapes, model: Callable[[Parameters], Tensor]) -> dict:
    """The first seed whose values are fit for comparison."""
    for seed in range(SEED, SEED + 5000):
        try:
            return make_case(name, config, draw(shapes, seed), model, differentiable=True)
        except (AssertionError, RuntimeError) as error:
            reason = error
    raise reason


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
    gat_cases = [
        fit_case(name, {"layers": layers, "hidden": HIDDEN, "heads": heads, "output_heads": output_heads},
                 gat_shapes(layers, heads, output_heads), partial(gat, layers, features))
        for name, layers, heads, output_heads in [("three layers", 3, 3, 1), ("averaged output", 2, 2, 3)]
    ]
    gin_cases = [
        fit_case(f"{neighbourhood}, {'learnt' if learnt else 'fixed'}",
                 {"layers": LAYERS - 1, "hidden": HIDDEN, "neighbourhood": neighbourhood, "learn_epsilon": learnt},
                 gin_shapes(learnt), partial(gin, neighbourhood, learnt, features))
        for neighbourhood, learnt in [("sum", True), ("mean", True), ("max", True), ("sum", False)]
    ]
    config = make_golden.Config()
    shared = {"layers": 2, "hidden": HIDDEN, "rank": HIDDEN, "strength": config.strength, "exponent": config.exponent,
              "aggregated": config.aggregated, "residual": config.residual, "initial": config.initial}
    backbone_cases = [
        fit_case("gat", shared | {"backbone": "gat", "heads": 2}, backbone_shapes(2),
                 partial(normalized, partial(attention, bias=False, concat=True), features)),
        fit_case("gin", shared | {"backbone": "gin"}, backbone_shapes(None),
                 partial(normalized, mean_and_map, features)),
        fit_case("sgc", shared | {"backbone": "sgc", "head_layers": 2}, weightless_shapes(), partial(weightless, features)),
    ]
    directory = Path(__file__).parent
    for file, cases in [("gat", gat_cases), ("gin", gin_cases), ("backbones", backbone_cases)]:
        (directory / f"{file}.json").write_text(to_text(problem | {"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
