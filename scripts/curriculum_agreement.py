#!/usr/bin/env python3
"""Trains R-SoftGraphAIN with SmoothCurriculum twice, in Abyssal and in plain PyTorch, and compares the accuracies.

    cargo build --release
    python3 -m venv venv && venv/bin/pip install torch scipy safetensors
    venv/bin/python scripts/curriculum_agreement.py --predictions teacher.npy --runs DIR [--dataset cora] [--seeds 5]

Both sides have the same data, the same settings (`preset = "reference"`: the recipe of the released code) and the same
teacher: `teacher.npy` holds its class probabilities, a row a node. The PyTorch side is written for reading, from the
formulas; it takes every setting from the `config.toml` of Abyssal's first run and refuses those it does not know. Seeds
do not mean the same on the two sides, so means are compared: they agree if they differ by at most two standard errors.
Compared are the test accuracies of the epochs that are selected, in which the luck of one epoch has a large part, and the
mean of those of all epochs, in which it has none.

Before that, the weights that Abyssal trained go through the PyTorch model, which has to predict what Abyssal predicted.

Abyssal's runs stay in DIR/abyssal; what is complete there is not trained again, and what was interrupted goes on. The
record (`scripts/results/curriculum_agreement.json`, or `--out`) has commands, versions, settings, fingerprints and the
accuracies of every seed, in percent. The script ends with 1 if the means do not agree.
"""

import argparse
import csv
import hashlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from scipy import sparse
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout

REPOSITORY = Path(__file__).resolve().parent.parent

# Rows of the matrix of distances that are in memory together.
BLOCK = 1000

# How far apart the two sides may be in a probability, given the same weights: Abyssal writes four digits, and 32 layers
# of single precision add a little.
TOLERANCE = 1e-3

# Who selects an epoch: validation accuracy with ties by validation loss, or, as the paper does, by test accuracy.
RULES = ("strict", "paper")

# What the PyTorch side does, in the words of `config.toml`. A run with other settings is refused.
KNOWN = {
    "data": {
        "largest_component": False,
        "noise_features": False,
        "standardize": False,
        "symmetrize": True,
        "self_loops": True,
        "rehearsal": "off",
    },
    "model": {
        "name": "r-soft-graph-ain",
        "backbone": "gcn",
        "rank_rounding": "floor-plus-one",
        "gradient": "detached",
        "centering": "combined",
        "activation": "relu",
        "head": "convolution",
        "head_layers": 1,
        "frozen": False,
        "input_dropout": 0,
    },
    "train": {
        "method": "curriculum",
        "hidden_weight_decay": "same",
        "output_weight_decay": "same",
        "weight_decay_kind": "l2",
        "passes": 1,
        "consistency": 0,
        "patience": 0,
    },
    "curriculum": {"filtered": 0, "temperature": 1, "fine_tuning_epochs": 0},
}


# Abyssal's side


def abyssal_command(arguments: argparse.Namespace, predictions: Path | str) -> list[str]:
    """The command that trains Abyssal's runs."""
    command = ["train", "--dataset", arguments.dataset, "--set", "preset=reference"]
    return [*command, "--teacher-predictions", str(predictions), "--seeds", str(arguments.seeds)]


def train_abyssal(arguments: argparse.Namespace) -> list[Path]:
    """Trains what is not trained yet and gives the directories of the runs."""
    directory = arguments.runs / "abyssal"
    runs = planned_runs(directory)
    if not runs or not all((run / "result.json").exists() for run in runs):
        command = [*abyssal_command(arguments, arguments.predictions), "--out", directory]
        given = ["train", "--resume", directory] if runs else command
        done = subprocess.run([arguments.program, *given, "--threads", str(arguments.threads)])
        if done.returncode != 0:
            sys.exit("abyssal: training failed; its messages are above")
        runs = planned_runs(directory)
    if len(runs) != arguments.seeds:
        sys.exit(f"{directory} has {len(runs)} runs, not {arguments.seeds}: give --seeds {len(runs)} or another --runs")
    return runs


def planned_runs(directory: Path) -> list[Path]:
    """The directories of the runs that Abyssal wants to train, or has trained, in this one."""
    plan = directory / "plan.json"
    return [directory / run for run in json.loads(plan.read_text())["runs"]] if plan.exists() else []


def read_config(run: Path) -> dict:
    """The settings of a run, all of which the PyTorch side knows."""
    config = tomllib.loads((run / "config.toml").read_text())
    for section, settings in KNOWN.items():
        given = config.get(section, {})
        for key, known in settings.items():
            if given.get(key) != known:
                sys.exit(f"{run}: {section}.{key} is {given.get(key)!r}, and this script knows {known!r} only")
    # Where the file was on this machine is nobody's business; the record has its sum.
    config["teacher"]["predictions"] = Path(config["teacher"]["predictions"]).name
    return config


# Data


@dataclass(frozen=True)
class Problem:
    """Data as a model sees them: undirected edges, the normalised adjacency, features (float32), and sets of nodes."""

    edges: np.ndarray
    adjacency: Tensor
    features: sparse.csr_matrix
    labels: Tensor
    class_names: list[str]
    train: Tensor
    validation: Tensor
    test: Tensor


def read_problem(program: Path, data: dict, split: str) -> Problem:
    """What `abyssal datasets export` gives, prepared as the section `[data]` says, with the split of this name."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "dataset.safetensors"
        command = [program, "datasets", "export", data["name"], "--out", path]
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit(f"abyssal: {data['name']} was not exported; its messages are above")
        with safe_open(path, "numpy") as file:
            header = json.loads(file.metadata()["abyssal_dataset"])
            tensors = {key: file.get_tensor(key) for key in file.keys()}
    if split not in header["splits"]:
        sys.exit(f"split {split} does not come with {data['name']}: this script knows {', '.join(header['splits'])}")
    nodes = header["nodes"]
    features = prepare_features(exported_features(tensors, nodes, header["feature_columns"]), data)
    kind, _, count = data["graph"].partition(":")
    if kind == "knn" and count.isdecimal():
        edges = nearest_neighbours(features, int(count))
    elif data["graph"] == "given":
        edges = tensors["edges"].astype(np.int64)
    else:
        sys.exit(f"data.graph = {data['graph']!r}: this script knows 'given' and 'knn:K' only")
    edges = undirected(edges)
    labels = tensors["labels"].astype(np.int64) - 1  # -1 where there is none

    def subset(name: str) -> Tensor:
        members = tensors[f"split.{header['splits'].index(split)}.{name}"].astype(np.int64)
        return torch.from_numpy(members[labels[members] >= 0])

    return Problem(
        edges=edges,
        adjacency=to_torch(normalized_adjacency(edges, nodes)),
        features=features,
        labels=torch.from_numpy(labels),
        class_names=header["class_names"] or [str(number) for number in range(header["classes"])],
        train=subset("train"),
        validation=subset("validation"),
        test=subset("test"),
    )


def exported_features(tensors: dict[str, np.ndarray], nodes: int, columns: int) -> sparse.csr_matrix:
    """The features of an exported dataset, as they are in its files."""
    if "features" in tensors:
        return sparse.csr_matrix(tensors["features"])
    parts = (tensors["feature_values"], tensors["feature_columns"], tensors["feature_offsets"].astype(np.int64))
    return sparse.csr_matrix(parts, shape=(nodes, columns))


def prepare_features(features: sparse.csr_matrix, data: dict) -> sparse.csr_matrix:
    """Features made 0 or 1, and rows divided by the sums of their absolute values, where the settings say so."""
    features = features.astype(np.float64)
    if data["binarize"]:
        features = (features != 0).astype(np.float64)
    if data["row_normalize"]:
        sums = np.asarray(abs(features).sum(axis=1)).ravel()
        features = sparse.diags(1 / np.where(sums > 0, sums, 1)) @ features
    return features.tocsr().astype(np.float32)


def undirected(edges: np.ndarray) -> np.ndarray:
    """Every pair of joined nodes once, the smaller first, without loops: m×2."""
    pairs = np.unique(np.sort(edges, axis=1), axis=0)
    return pairs[pairs[:, 0] != pairs[:, 1]]


def symmetric(pairs: np.ndarray, weights: np.ndarray, nodes: int) -> sparse.csr_matrix:
    """The matrix with these weights on both places of these pairs."""
    half = sparse.csr_matrix((weights, (pairs[:, 0], pairs[:, 1])), shape=(nodes, nodes))
    return half + half.T


def normalized_adjacency(pairs: np.ndarray, nodes: int) -> sparse.csr_matrix:
    """D^-1/2 (A + I) D^-1/2."""
    adjacency = symmetric(pairs, np.ones(len(pairs)), nodes) + sparse.identity(nodes)
    scale = sparse.diags(np.asarray(adjacency.sum(axis=1)).ravel() ** -0.5)
    return scale @ adjacency @ scale


def to_torch(matrix: sparse.csr_matrix) -> Tensor:
    matrix = matrix.tocoo()
    places = torch.from_numpy(np.stack([matrix.row, matrix.col]).astype(np.int64))
    values = torch.from_numpy(matrix.data).float()
    return torch.sparse_coo_tensor(places, values, matrix.shape, check_invariants=True).coalesce()


def nearest_neighbours(vectors: sparse.csr_matrix, count: int) -> np.ndarray:
    """Every row with its `count` nearest ones by Euclidean distance, ties to the smaller number: (n·count)×2."""
    vectors = vectors.astype(np.float64)
    nodes = vectors.shape[0]
    squares = vectors.multiply(vectors).tocsr() @ np.ones(vectors.shape[1])
    edges = []
    for start in range(0, nodes, BLOCK):
        rows = np.arange(start, min(start + BLOCK, nodes))
        products = (vectors[rows] @ vectors.T).toarray()
        distances = np.maximum(squares[rows, None] + squares - 2 * products, 0)
        distances[rows - start, rows] = np.inf  # nobody is a neighbour of its own
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :count]
        edges.append(np.stack([np.repeat(rows, count), nearest.ravel()], axis=1))
    return np.concatenate(edges)


# The curriculum


def estimated_labels(predictions: np.ndarray, problem: Problem) -> np.ndarray:
    """What the teacher says, and the true label of training nodes: n×C, rows sum to 1."""
    labels = predictions.astype(np.float64)
    train = problem.train.numpy()
    labels[train] = np.eye(labels.shape[1])[problem.labels[problem.train].numpy()]
    return labels / labels.sum(axis=1, keepdims=True)


def auxiliary_weights(predictions: np.ndarray, problem: Problem, curriculum: dict) -> sparse.csr_matrix:
    """W of the graph over which labels are smoothed; loops, if there are to be some, weigh 1."""
    nodes = len(predictions)
    match curriculum["graph"]:
        case "input":
            weights = symmetric(problem.edges, np.ones(len(problem.edges)), nodes)
        case "features":
            weights = similarity_weights(problem.features, curriculum)
        case "embeddings":
            # A file of predictions has no embeddings but the predictions themselves. Rows are scaled to length 1.
            lengths = np.linalg.norm(predictions, axis=1, keepdims=True)
            weights = similarity_weights(sparse.csr_matrix(predictions / lengths), curriculum)
        case other:
            sys.exit(f"curriculum.graph = {other!r}: this script knows 'input', 'features' and 'embeddings' only")
    return weights + sparse.identity(nodes) if curriculum["self_loops"] else weights


def similarity_weights(vectors: sparse.csr_matrix, curriculum: dict) -> sparse.csr_matrix:
    """Nearest neighbours, joined without directions, with weights ReLU(h_i·h_j)^exponent."""
    pairs = undirected(nearest_neighbours(vectors, curriculum["neighbours"]))
    first, second = (vectors[pairs[:, end]].astype(np.float64) for end in (0, 1))
    products = np.asarray(first.multiply(second).sum(axis=1)).ravel()
    return symmetric(pairs, np.maximum(products, 0) ** curriculum["weight_exponent"], vectors.shape[0])


def smoothed_labels(labels: np.ndarray, weights: sparse.csr_matrix, steps: int) -> list[np.ndarray]:
    """Y_steps, …, Y_1, Y_0, the smoothest first: Y_(i+1) = P Y_i with P = D^-1 W, rows divided by their sums."""
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    # A node without neighbours keeps its label.
    weights = weights + sparse.diags((degrees == 0).astype(np.float64))
    transition = sparse.diags(1 / np.where(degrees > 0, degrees, 1)) @ weights
    stages = [labels]
    for _ in range(steps):
        smoothed = transition @ stages[-1]
        stages.append(smoothed / smoothed.sum(axis=1, keepdims=True))
    return stages[::-1]


def make_targets(predictions: np.ndarray, problem: Problem, curriculum: dict) -> list[Tensor]:
    """What is learnt, task by task: every stage mixed with the next, sharper one, the last one with itself."""
    labels = estimated_labels(predictions, problem)
    weights = auxiliary_weights(predictions, problem, curriculum)
    stages = smoothed_labels(labels, weights, curriculum["steps"])
    share = curriculum["mixing"]
    mixed = [(1 - share) * stage + share * following for stage, following in zip(stages, [*stages[1:], stages[-1]])]
    return [torch.from_numpy(target).float() for target in mixed]


# The model


class RSoftGraphAin(nn.Module):
    """Fuzzy R-SoftGraphAIN (the paper's Algorithm 1) as the released code computes it."""

    def __init__(self, settings: dict, features: int, classes: int) -> None:
        super().__init__()
        self.settings = settings
        hidden = settings["hidden"]
        total = settings["aggregated"] + settings["residual"] + settings["initial"]
        self.alpha, self.beta, self.gamma = (settings[name] / total for name in ("aggregated", "residual", "initial"))
        rank = settings["rank"]
        # A whole number is a count, a number with a point a share of the width.
        self.rank = rank if isinstance(rank, int) else min(math.floor(hidden * rank) + 1, hidden)
        widths = [features] + [hidden] * (settings["layers"] - 1)
        # No bias in the layers: centring would take it out again.
        self.layers = nn.ParameterList(torch.empty(shape) for shape in zip(widths, widths[1:]))
        self.head_weight = nn.Parameter(torch.empty(hidden, classes))
        self.head_bias = nn.Parameter(torch.zeros(1, classes))
        for weight in [*self.layers, self.head_weight]:
            nn.init.xavier_uniform_(weight)

    def load(self, path: Path) -> None:
        """Takes weights that Abyssal wrote."""
        tensors = load_file(path)
        with torch.no_grad():
            for number, weight in enumerate(self.layers):
                weight.copy_(tensors.pop(f"layers.{number}.weight"))
            self.head_weight.copy_(tensors.pop("head.weight"))
            self.head_bias.copy_(tensors.pop("head.bias"))
        if tensors:
            sys.exit(f"{path}: nobody knows what {', '.join(tensors)} are for")

    def forward(self, adjacency: Tensor, features: Tensor) -> Tensor:
        """B_1 = T(Â X W_1), then B_t = T(α Â H W_t + β S_last + γ S_init), H = ReLU(soft(B)); scores are Â H W + b."""
        settings = self.settings
        first, *others = self.layers
        hidden = self.activate(center(adjacency @ (features @ first)))
        last = initial = hidden
        for number, weight in enumerate(others, start=1):
            aggregated = adjacency @ (hidden @ weight)
            hidden = self.activate(center(self.alpha * aggregated + self.beta * last + self.gamma * initial))
            last = settings["residual_memory"] * last + hidden
            initial = initial + settings["initial_decay"] ** number * hidden
        scores = adjacency @ (hidden @ self.head_weight) + self.head_bias
        return dropout(scores, settings["output_dropout"], self.training)

    def activate(self, values: Tensor) -> Tensor:
        normalized = torch.relu(self.soft_normalize(values))
        return dropout(normalized, self.settings["hidden_dropout"], self.training)

    def soft_normalize(self, values: Tensor) -> Tensor:
        """B M with M = a U f(Λ) Uᵀ + (1 - a) I, BᵀB = U Λ Uᵀ; f(λ) = λ^(-b/2) for the largest eigenvalues, else 0.

        M is computed from a detached B, so it counts as constant. Eigenvalues below λ_max·d·ε are rounding noise.
        """
        strength, exponent = self.settings["strength"], self.settings["exponent"]
        seen = values.detach()
        eigenvalues, eigenvectors = torch.linalg.eigh(seen.T @ seen)  # ascending
        width = len(eigenvalues)
        powers = torch.zeros(width)
        kept = eigenvalues > eigenvalues[-1] * width * torch.finfo(eigenvalues.dtype).eps
        kept[: width - self.rank] = False
        powers[kept] = eigenvalues[kept] ** (-exponent / 2)
        whitening = eigenvectors @ torch.diag(powers) @ eigenvectors.T
        return values @ (strength * whitening + (1 - strength) * torch.eye(width))


def center(values: Tensor) -> Tensor:
    """T: every column minus its mean."""
    return values - values.mean(dim=0)


# Training


@dataclass(frozen=True)
class Epoch:
    """How well a model does after an epoch, which counts from 1. Accuracies are shares."""

    epoch: int
    validation_loss: float
    validation_accuracy: float
    test_accuracy: float


def selected(epochs: list[Epoch], rule: str) -> Epoch:
    """The first with the best validation accuracy; ties by lower validation loss (strict) or larger test accuracy (paper)."""

    def merit(one: Epoch) -> tuple[float, float]:
        return one.validation_accuracy, -one.validation_loss if rule == "strict" else one.test_accuracy

    return max(epochs, key=merit)


def accuracy(scores: Tensor, labels: Tensor, nodes: Tensor) -> float:
    return (scores[nodes].argmax(dim=1) == labels[nodes]).double().mean().item()


def evaluate(model: RSoftGraphAin, features: Tensor, problem: Problem, epoch: int) -> Epoch:
    model.eval()
    with torch.no_grad():
        scores = model(problem.adjacency, features)
    labels, validation = problem.labels, problem.validation
    return Epoch(
        epoch,
        cross_entropy(scores[validation], labels[validation]).item(),
        accuracy(scores, labels, validation),
        accuracy(scores, labels, problem.test),
    )


def train_pytorch(problem: Problem, config: dict, targets: list[Tensor], seed: int) -> list[Epoch]:
    """All epochs of one run."""
    torch.manual_seed(seed)
    train = config["train"]
    features = to_torch(problem.features)
    model = RSoftGraphAin(config["model"], features.shape[1], len(problem.class_names))
    optimizer = torch.optim.Adam(model.parameters(), lr=train["learning_rate"], weight_decay=train["weight_decay"])
    epochs = []
    for epoch in range(train["epochs"]):
        halvings = sum(at <= epoch for at in train["halve_at"])
        for group in optimizer.param_groups:
            group["lr"] = train["learning_rate"] * 0.5**halvings
        model.train()
        optimizer.zero_grad()
        # The targets are distributions: this is the mean over all nodes of -Σ_c Y_c·log softmax(Z)_c.
        loss = cross_entropy(model(problem.adjacency, features), targets[epoch * len(targets) // train["epochs"]])
        loss.backward()
        optimizer.step()
        epochs.append(evaluate(model, features, problem, epoch + 1))
    return epochs


# The comparison


def check_forward_pass(run: Path, result: dict, problem: Problem, config: dict) -> dict:
    """What the PyTorch model predicts with the weights of one of Abyssal's runs, beside what Abyssal predicted."""
    features = to_torch(problem.features)
    model = RSoftGraphAin(config["model"], features.shape[1], len(problem.class_names))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    if parameters != result["parameters"]:
        sys.exit(f"the PyTorch model has {parameters} parameters, Abyssal's {result['parameters']}")
    model.load(run / "model.safetensors")
    model.eval()
    with torch.no_grad():
        scores = model(problem.adjacency, features)
    probabilities, classes = scores.softmax(dim=1).max(dim=1)
    with open(run / "predictions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    theirs = torch.tensor([problem.class_names.index(row["prediction"]) for row in rows])
    their_probabilities = torch.tensor([float(row["probability"]) for row in rows])
    difference = (probabilities - their_probabilities).abs().max().item()
    if difference > TOLERANCE:
        sys.exit(f"{run}: with the same weights, probabilities differ by up to {difference:.4f}")
    return {
        "seed": result["seed"],
        "nodes": len(rows),
        "other_class": int((classes != theirs).sum()),
        "largest_difference_of_probability": round(difference, 6),
        "test_pytorch": round(100 * accuracy(scores, problem.labels, problem.test), 2),
        "test_abyssal": round(100 * result["selected"]["test_accuracy"], 2),
    }


def summary(test: Sequence[float], validation: Sequence[float] = (), epochs: Sequence[int] = ()) -> dict:
    """Means and runs of one side; where no epoch is selected, there is nothing to say of it."""
    entry = {
        "test_mean": round(100 * statistics.fmean(test), 3),
        "test_deviation": round(100 * statistics.stdev(test), 3),
        "test": [round(100 * value, 2) for value in test],
    }
    if epochs:
        entry |= {"validation": [round(100 * value, 2) for value in validation], "selected_epochs": epochs}
    return entry


def compare_selected(results: list[dict], epochs: list[list[Epoch]], rule: str) -> dict:
    """Both sides under one rule of selection, in percent."""
    abyssal = [result[f"selected_by_{rule}_rule"] for result in results]
    pytorch = [vars(selected(run, rule)) for run in epochs]
    keys = ("test_accuracy", "validation_accuracy", "epoch")
    sides = [summary(*([one[key] for one in side] for key in keys)) for side in (abyssal, pytorch)]
    return compare([[one["test_accuracy"] for one in side] for side in (abyssal, pytorch)], sides)


def compare_all_epochs(runs: list[Path], epochs: list[list[Epoch]]) -> dict:
    """The mean test accuracy over all epochs of a run, of both sides, in percent."""
    logs = [[json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()] for run in runs]
    abyssal = [statistics.fmean(epoch["test_accuracy"] for epoch in log) for log in logs]
    pytorch = [statistics.fmean(epoch.test_accuracy for epoch in run) for run in epochs]
    return compare([abyssal, pytorch], [summary(abyssal), summary(pytorch)])


def compare(accuracies: list[list[float]], sides: list[dict]) -> dict:
    """Whether the means of Abyssal's and PyTorch's accuracies differ, in percent."""
    abyssal, pytorch = accuracies
    difference = 100 * (statistics.fmean(abyssal) - statistics.fmean(pytorch))
    # The two samples are independent, and their deviations may differ.
    error = 100 * math.sqrt(sum(statistics.variance(side) / len(side) for side in accuracies))
    return {
        "abyssal": sides[0],
        "pytorch": sides[1],
        "difference": round(difference, 3),
        "standard_error": round(error, 3),
        "agree": abs(difference) <= 2 * error,
    }


def table(comparisons: dict[str, dict]) -> str:
    """A row a comparison."""
    lines = ["| epochs | Abyssal | PyTorch | difference | agree |", "| --- | ---: | ---: | ---: | --- |"]
    for name, one in comparisons.items():
        sides = [f"{one[side]['test_mean']:.2f} ± {one[side]['test_deviation']:.2f}" for side in ("abyssal", "pytorch")]
        difference = f"{one['difference']:+.2f} ± {one['standard_error']:.2f}"
        lines.append(f"| {name} | {' | '.join(sides)} | {difference} | {'yes' if one['agree'] else 'NO'} |")
    return "\n".join(lines)


def read_predictions(path: Path, problem: Problem) -> np.ndarray:
    """The teacher's probabilities, n×C, in the precision Abyssal computes in."""
    predictions = np.load(path).astype(np.float32)
    expected = (len(problem.labels), len(problem.class_names))
    if predictions.shape != expected:
        sys.exit(f"{path} has shape {predictions.shape}, and there is one row a node, one column a class: {expected}")
    if predictions.min() < 0 or abs(predictions.sum(axis=1) - 1).max() > 0.01:
        sys.exit(f"{path} holds no probabilities: a row has to sum to 1")
    return predictions


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predictions", type=Path, required=True, help="the teacher's class probabilities, npy")
    parser.add_argument("--runs", type=Path, required=True, help="where runs are kept")
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each side, at least 2")
    parser.add_argument("--threads", type=int, default=0, help="0 is one for each core")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "scripts" / "results" / "curriculum_agreement.json")
    parser.add_argument("--program", type=Path, default=REPOSITORY / "target" / "release" / "abyssal")
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("--seeds: a deviation needs at least 2 runs")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    if arguments.threads > 0:
        torch.set_num_threads(arguments.threads)
    arguments.runs.mkdir(parents=True, exist_ok=True)
    runs = train_abyssal(arguments)
    results = [json.loads((run / "result.json").read_text()) for run in runs]
    config = read_config(runs[0])
    problem = read_problem(arguments.program, config["data"], results[0]["split"]["name"])
    checks = [check_forward_pass(run, result, problem, config) for run, result in zip(runs, results)]
    print("with Abyssal's weights:", json.dumps(checks), flush=True)

    targets = make_targets(read_predictions(arguments.predictions, problem), problem, config["curriculum"])
    epochs = []
    for seed in range(arguments.seeds):
        start = time.perf_counter()
        epochs.append(train_pytorch(problem, config, targets, seed))
        tests = ", ".join(f"{100 * selected(epochs[-1], rule).test_accuracy:.2f} ({rule})" for rule in RULES)
        print(f"PyTorch, seed {seed}: {tests}, {time.perf_counter() - start:.0f} s", flush=True)

    comparisons = {rule: compare_selected(results, epochs, rule) for rule in RULES}
    comparisons["all"] = compare_all_epochs(runs, epochs)
    predictions = arguments.predictions.name
    settings = f"--dataset {arguments.dataset} --seeds {arguments.seeds}"
    record = {
        "commands": [
            " ".join(["abyssal", *abyssal_command(arguments, predictions)]),
            f"python3 scripts/{Path(__file__).name} --predictions {predictions} --runs DIR {settings}",
        ],
        "versions": {
            "abyssal": results[0]["version"],
            "torch": torch.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
        "predictions_sha256": hashlib.sha256(arguments.predictions.read_bytes()).hexdigest(),
        "dataset": results[0]["dataset"],
        "split": results[0]["split"],
        "config": config,
        "with_weights_of_abyssal": checks,
        "comparisons": comparisons,
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(table(comparisons))
    sys.exit(0 if all(one["agree"] for one in comparisons.values()) else 1)


if __name__ == "__main__":
    main()
