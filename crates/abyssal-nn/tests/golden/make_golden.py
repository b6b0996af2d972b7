"""Golden values for the models of this crate, computed by PyTorch in float64.

Writes `r_soft_graph_ain.json` and `gcn.json` beside this script. To make them again (torch is the only requirement):

    python make_golden.py

Inputs and parameters are multiples of 1/1024, hence exact in float32 and float64 alike: an implementation in either
precision sees the same numbers. Before anything is written, the script checks that the values are fit for comparison:
no ReLU input close to zero, eigenvalues well apart, gradients of visible size and equal to finite differences.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

SEED = 19
NODES, FEATURES, HIDDEN, CLASSES, LAYERS = 12, 5, 6, 3, 3
# [5, 0] repeats [0, 5]; node 11 has a single neighbour.
EDGES = [[0, 1], [0, 2], [0, 5], [1, 2], [1, 6], [2, 3], [3, 4], [3, 8], [4, 5], [5, 0], [5, 7], [6, 7], [6, 9],
         [7, 10], [8, 9], [8, 10], [9, 10], [10, 11]]
LABELS = [0, 1, 2, 0, 1, 2, 2, 1, 0, 0, 1, 2]
TRAIN = [0, 1, 5, 8, 11]

SMALLEST_RELU_INPUT = 1e-4
SMALLEST_EIGENVALUE_GAP = 1e-3  # relative to the largest eigenvalue
SMALLEST_GRADIENT = 1e-5  # of every single entry; a unit that no node activates would have zeros
SMALLEST_LARGEST_GRADIENT = 1e-2  # of every parameter's largest entry

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Config:
    """One R-SoftGraphAIN; the paper's letters in the comments."""

    layers: int = LAYERS
    hidden: int = HIDDEN
    strength: float = 0.5  # a
    exponent: float = 0.75  # b
    rank: int = HIDDEN  # d0
    gradient: str = "full"
    centering: str = "aggregated"
    head: str = "linear"
    aggregated: float = 0.75  # alpha
    residual: float = 0.5  # beta
    initial: float = 0.25  # gamma
    residual_memory: float = 0.5  # p
    initial_decay: float = 0.25  # q


CASES = {
    "full": Config(),
    "detached": Config(gradient="detached"),
    "full_truncated_combined": Config(rank=4, centering="combined"),
    "reference": Config(rank=5, gradient="detached", centering="combined", head="convolution"),
    "hard": Config(strength=1.0, exponent=1.0, residual_memory=0.0, initial_decay=0.0),
    "cora": Config(strength=0.01, exponent=1.0, aggregated=0.9, residual=0.2, initial=0.5, residual_memory=0.4,
                   initial_decay=0.3),
}


def exact(values: Tensor) -> Tensor:
    """The nearest multiples of 1/1024."""
    return torch.round(values * 1024) / 1024


def normalized_adjacency() -> Tensor:
    """D^-1/2 (A + I) D^-1/2 of the simple undirected graph, dense."""
    adjacency = torch.eye(NODES, dtype=torch.float64)
    for source, target in EDGES:
        adjacency[source, target] = adjacency[target, source] = 1.0
    scale = adjacency.sum(dim=1).rsqrt()
    return scale[:, None] * adjacency * scale[None, :]


def center(values: Tensor) -> Tensor:
    return values - values.mean(dim=0, keepdim=True)


def relu(values: Tensor) -> Tensor:
    assert values.abs().min() > SMALLEST_RELU_INPUT, "a ReLU input is too close to zero; choose another seed"
    return torch.relu(values)


def check_spectrum(eigenvalues: Tensor, floor: Tensor) -> None:
    """Neighbouring eigenvalues are apart, and each is clearly above the floor or clearly below it."""
    smallest_gap = SMALLEST_EIGENVALUE_GAP * eigenvalues[-1]
    assert eigenvalues.diff().min() > smallest_gap, "two eigenvalues are too close; choose another seed"
    clear = (eigenvalues > smallest_gap) | (eigenvalues < floor / 4)
    assert clear.all(), "an eigenvalue is neither large nor zero; choose another seed"


def soft_normalize(values: Tensor, config: Config) -> Tensor:
    """B (a U f(L) U^T + (1 - a) I) with B^T B = U L U^T and f(x) = x^(-b/2) on the largest eigenvalues.

    The first layer has more columns than there are features, so one eigenvalue of it is zero. Eigenvalues below
    `largest * d * epsilon` are rounding noise and count as dropped.
    """
    seen = values.detach() if config.gradient == "detached" else values
    eigenvalues, eigenvectors = torch.linalg.eigh(seen.T @ seen)
    floor = eigenvalues[-1].detach() * HIDDEN * torch.finfo(torch.float64).eps
    check_spectrum(eigenvalues.detach(), floor)

    kept = (torch.arange(HIDDEN) >= HIDDEN - config.rank) & (eigenvalues > floor)
    # The inner `where` keeps the power, and so its derivative, finite where it is not used.
    powers = torch.where(kept, eigenvalues, 1.0) ** (-config.exponent / 2)
    whitening = (eigenvectors * torch.where(kept, powers, 0.0)) @ eigenvectors.T
    identity = torch.eye(HIDDEN, dtype=torch.float64)
    return values @ (config.strength * whitening + (1 - config.strength) * identity)


def r_soft_graph_ain(config: Config, adjacency: Tensor, features: Tensor, parameters: Parameters) -> Tensor:
    """Logits of Fuzzy R-SoftGraphAIN (the paper's Algorithm 1)."""
    total = config.aggregated + config.residual + config.initial
    alpha, beta, gamma = config.aggregated / total, config.residual / total, config.initial / total
    normalized_layers = config.layers - 1 if config.head == "convolution" else config.layers

    hidden = relu(soft_normalize(center(adjacency @ features @ parameters["layers.0.weight"]), config))
    last = initial = hidden
    for layer in range(2, normalized_layers + 1):
        aggregated = adjacency @ hidden @ parameters[f"layers.{layer - 1}.weight"]
        if config.centering == "aggregated":
            combined = alpha * center(aggregated) + beta * last + gamma * initial
        else:
            combined = center(alpha * aggregated + beta * last + gamma * initial)
        hidden = relu(soft_normalize(combined, config))
        last = config.residual_memory * last + hidden
        initial = initial + config.initial_decay ** (layer - 1) * hidden

    projected = hidden @ parameters["head.weight"]
    if config.head == "convolution":
        projected = adjacency @ projected
    return projected + parameters["head.bias"]


def gcn(adjacency: Tensor, features: Tensor, parameters: Parameters) -> Tensor:
    """Logits of a plain graph convolutional network."""
    hidden = features
    for layer in range(LAYERS):
        weight, bias = parameters[f"layers.{layer}.weight"], parameters[f"layers.{layer}.bias"]
        hidden = adjacency @ (hidden @ weight) + bias
        if layer < LAYERS - 1:
            hidden = relu(hidden)
    return hidden


def draw_parameters(shapes: dict[str, tuple[int, int]]) -> Parameters:
    """Weights that keep the scale of what they multiply; biases of a visible size.

    Every call starts from the same seed: cases of equal shapes differ in their configuration only.
    """
    generator = torch.Generator().manual_seed(SEED)
    parameters = {}
    for name, shape in shapes.items():
        scale = 0.25 if name.endswith("bias") else 1.5 / shape[0] ** 0.5
        parameters[name] = exact(scale * torch.randn(shape, generator=generator, dtype=torch.float64))
    return parameters


def r_soft_graph_ain_shapes(config: Config) -> dict[str, tuple[int, int]]:
    hidden_layers = config.layers - 2 if config.head == "convolution" else config.layers - 1
    return (
        {"layers.0.weight": (FEATURES, HIDDEN)}
        | {f"layers.{layer}.weight": (HIDDEN, HIDDEN) for layer in range(1, hidden_layers + 1)}
        | {"head.weight": (HIDDEN, CLASSES), "head.bias": (1, CLASSES)}
    )


def gcn_shapes() -> dict[str, tuple[int, int]]:
    widths = [FEATURES] + [HIDDEN] * (LAYERS - 1) + [CLASSES]
    shapes = {}
    for layer in range(LAYERS):
        shapes[f"layers.{layer}.weight"] = (widths[layer], widths[layer + 1])
        shapes[f"layers.{layer}.bias"] = (1, widths[layer + 1])
    return shapes


def make_case(
    name: str, config: dict, parameters: Parameters, model: Callable[[Parameters], Tensor], differentiable: bool
) -> dict:
    """Logits, loss and gradients of one model; `differentiable` says that they are the loss's true gradients."""

    def loss_of(*values: Tensor) -> Tensor:
        logits = model(dict(zip(parameters, values)))
        return cross_entropy(logits[TRAIN], torch.tensor(LABELS)[TRAIN])

    for parameter in parameters.values():
        parameter.requires_grad_()
    logits = model(parameters)
    loss = loss_of(*parameters.values())
    gradients = dict(zip(parameters, torch.autograd.grad(loss, list(parameters.values()))))
    for parameter, gradient in gradients.items():
        visible = gradient.abs().min() > SMALLEST_GRADIENT and gradient.abs().max() > SMALLEST_LARGEST_GRADIENT
        assert visible, f"{name}: the gradient of {parameter} is too small; choose another seed"
    if differentiable:
        torch.autograd.gradcheck(loss_of, tuple(parameters.values()), eps=1e-6, atol=1e-7, rtol=1e-6)
    return {
        "name": name,
        "config": config,
        "parameters": {key: value.tolist() for key, value in parameters.items()},
        "logits": logits.tolist(),
        "loss": loss.item(),
        "gradients": {key: value.tolist() for key, value in gradients.items()},
    }


def to_text(value: object, indent: str = "") -> str:
    """JSON with one matrix row, or one flat list, on a line."""
    if isinstance(value, dict):
        inner = [f"{indent} {json.dumps(key)}: {to_text(item, indent + ' ')}" for key, item in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], (list, dict)):
        inner = [f"{indent} {to_text(item, indent + ' ')}" for item in value]
        return "[\n" + ",\n".join(inner) + f"\n{indent}]"
    return json.dumps(value)


def main() -> None:
    adjacency = normalized_adjacency()
    generator = torch.Generator().manual_seed(SEED + 1)
    features = exact(torch.randn(NODES, FEATURES, generator=generator, dtype=torch.float64))
    problem = {
        "generator": {"torch": torch.__version__, "seed": SEED},
        "nodes": NODES,
        "edges": EDGES,
        "features": features.tolist(),
        "labels": LABELS,
        "train": TRAIN,
    }

    cases = [
        make_case(
            name,
            asdict(config),
            draw_parameters(r_soft_graph_ain_shapes(config)),
            partial(r_soft_graph_ain, config, adjacency, features),
            differentiable=config.gradient == "full",
        )
        for name, config in CASES.items()
    ]
    gcn_case = make_case(
        "gcn",
        {"layers": LAYERS, "hidden": HIDDEN},
        draw_parameters(gcn_shapes()),
        partial(gcn, adjacency, features),
        differentiable=True,
    )

    directory = Path(__file__).parent
    (directory / "r_soft_graph_ain.json").write_text(to_text(problem | {"cases": cases}) + "\n")
    (directory / "gcn.json").write_text(to_text(problem | {"cases": [gcn_case]}) + "\n")


if __name__ == "__main__":
    main()
