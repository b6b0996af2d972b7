"""Times an epoch of baselines on real graphs: Abyssal against PyTorch Geometric, in turns.

    pip install -r requirements.txt torch_geometric
    ABYSSAL_DATA=DIR python baselines.py --json results/baselines.json

DIR is a directory with the files of the benchmarks, as `abyssal datasets fetch` makes it. An epoch is one training step and
one evaluation with validation accuracy; with dropout, both sides run two forward passes. PyTorch Geometric runs as its
examples have it (edge_index) and with a sparse CSR adjacency matrix; the ratio is to the faster of the two.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
import torch_geometric
from safetensors import safe_open
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import cross_entropy, dropout, elu, relu
from torch_geometric.nn import GATConv, GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from compare import PAUSE_SECONDS, REPOSITORY, Server, Timing, build_server, cpu_model
from peer import Epoch

WARM_UP_EPOCHS = 20
# What both sides are given, dropout as published. Without dropout, PyTorch is spared a random mask of the dense features,
# and we need one forward pass, not two: see --without-dropout.
CASES = {
    ("gcn", "cora"): {"hidden": 16, "dropout": 0.5, "learning_rate": 0.01, "weight_decay": 5e-4},
    ("gcn", "pubmed"): {"hidden": 16, "dropout": 0.5, "learning_rate": 0.01, "weight_decay": 5e-4},
    ("gat", "cora"): {"hidden": 64, "dropout": 0.6, "learning_rate": 0.005, "weight_decay": 5e-4},
    ("gat", "pubmed"): {"hidden": 64, "dropout": 0.6, "learning_rate": 0.01, "weight_decay": 1e-3, "output_heads": 8},
}


def load(name: str) -> dict[str, Tensor]:
    """A dataset as Abyssal reads it, for both sides the same."""
    program = REPOSITORY / "target" / "release" / "abyssal"
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "dataset.safetensors"
        command = [program, "datasets", "export", name, "--out", path, "--offline"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with safe_open(path, "numpy") as file:
            header = json.loads(file.metadata()["abyssal_dataset"])
            tensors = {key: file.get_tensor(key) for key in file.keys()}
    nodes = header["nodes"]
    features = np.zeros((nodes, header["feature_columns"]), np.float32)
    rows = np.repeat(np.arange(nodes), np.diff(tensors["feature_offsets"].astype(np.int64)))
    features[rows, tensors["feature_columns"]] = tensors["feature_values"]
    # As our catalogue prepares Planetoid: every row sums to 1.
    features /= np.maximum(features.sum(axis=1, keepdims=True), 1e-12)
    edges = torch.from_numpy(tensors["edges"].astype(np.int64).reshape(-1, 2).T.copy())
    split = header["splits"].index("public")
    sets = {part: torch.from_numpy(tensors[f"split.{split}.{part}"].astype(np.int64)) for part in ("train", "validation")}
    return {
        "features": torch.from_numpy(features),
        "edge_index": torch.cat([edges, edges.flip(0)], dim=1),
        "labels": torch.from_numpy(tensors["labels"].astype(np.int64) - 1),
        **sets,
    }


class Gcn(Module):
    def __init__(self, inputs: int, classes: int, case: dict, normalize: bool) -> None:
        super().__init__()
        self.rate = case["dropout"]
        self.first = GCNConv(inputs, case["hidden"], cached=True, normalize=normalize)
        self.second = GCNConv(case["hidden"], classes, cached=True, normalize=normalize)

    def forward(self, features: Tensor, edges: Tensor) -> Tensor:
        hidden = relu(self.first(dropout(features, self.rate, self.training), edges))
        return self.second(dropout(hidden, self.rate, self.training), edges)


class Gat(Module):
    def __init__(self, inputs: int, classes: int, case: dict) -> None:
        super().__init__()
        self.rate, heads = case["dropout"], case.get("output_heads", 1)
        self.first = GATConv(inputs, case["hidden"] // 8, heads=8, dropout=self.rate)
        self.second = GATConv(case["hidden"], classes, heads=heads, concat=False, dropout=self.rate)

    def forward(self, features: Tensor, edges: Tensor) -> Tensor:
        hidden = elu(self.first(dropout(features, self.rate, self.training), edges))
        return self.second(dropout(hidden, self.rate, self.training), edges)


class Peer:
    """PyTorch Geometric's side."""

    def __init__(self, model: Module, edges: Tensor, data: dict[str, Tensor], case: dict) -> None:
        self.model, self.edges, self.data = model, edges, data
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=case["learning_rate"], weight_decay=case["weight_decay"], fused=True
        )

    def epoch(self) -> Epoch:
        start = time.perf_counter()
        data, train, validation = self.data, self.data["train"], self.data["validation"]
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        scores = self.model(data["features"], self.edges)
        loss = cross_entropy(scores[train], data["labels"][train])
        loss.backward()
        self.optimizer.step()
        self.model.eval()
        with torch.no_grad():
            guesses = self.model(data["features"], self.edges)[validation].argmax(dim=1)
            accuracy = (guesses == data["labels"][validation]).float().mean().item()
        return Epoch(time.perf_counter() - start, loss.item(), accuracy)


def csr_adjacency(edge_index: Tensor, nodes: int) -> Tensor:
    """The normalised adjacency matrix with self-loops, which is symmetric."""
    index, weights = gcn_norm(edge_index, num_nodes=nodes)
    return torch.sparse_coo_tensor(index, weights, (nodes, nodes)).coalesce().to_sparse_csr()


def peers(model: str, data: dict[str, Tensor], case: dict) -> dict[str, Peer]:
    nodes, inputs = data["features"].shape
    classes = int(data["labels"].max()) + 1
    torch.manual_seed(0)
    if model == "gat":
        return {"edge_index": Peer(Gat(inputs, classes, case), data["edge_index"], data, case)}
    csr = csr_adjacency(data["edge_index"], nodes)
    return {
        "edge_index": Peer(Gcn(inputs, classes, case, normalize=True), data["edge_index"], data, case),
        "csr": Peer(Gcn(inputs, classes, case, normalize=False), csr, data, case),
    }


def settings(model: str, dataset: str, case: dict) -> list[str]:
    values = {
        "data.name": dataset,
        "model.name": model,
        "model.hidden": case["hidden"],
        "model.input_dropout": case["dropout"],
        "model.hidden_dropout": case["dropout"],
        "train.learning_rate": case["learning_rate"],
        "train.weight_decay": case["weight_decay"],
        "train.output_weight_decay": "same",
        "train.epochs": 1_000_000,
    }
    if model == "gat":
        values |= {"model.attention_dropout": case["dropout"], "model.output_heads": case.get("output_heads", 1)}
    return [f"{key}={value}" for key, value in values.items()]


def compare(model: str, dataset: str, arguments: argparse.Namespace) -> dict:
    case = CASES[model, dataset] | ({"dropout": 0.0} if arguments.without_dropout else {})
    sides: dict[str, Peer | Server] = dict(peers(model, load(dataset), case))
    sides["abyssal"] = Server(settings(model, dataset, case), arguments.threads)
    for side in sides.values():
        for _ in range(WARM_UP_EPOCHS):
            side.epoch()
    epochs: dict[str, list[Epoch]] = {name: [] for name in sides}
    for _ in range(arguments.rounds):
        for name, side in sides.items():
            time.sleep(PAUSE_SECONDS)
            side.epoch()  # wakes the threads of this side
            epochs[name].append(side.epoch())
    sides["abyssal"].close()
    accuracies = {name: float(np.mean([one.validation_accuracy for one in of[-5:]])) for name, of in epochs.items()}
    if max(accuracies.values()) - min(accuracies.values()) > 0.05:
        sys.exit(f"validation accuracies differ, so the sides do different things: {accuracies}")
    timings = {name: Timing.of([one.seconds for one in of]) for name, of in epochs.items()}
    fastest = min(timing.median for name, timing in timings.items() if name != "abyssal")
    return {
        "model": model,
        "dataset": dataset,
        "settings": case,
        "ratio": fastest / timings["abyssal"].median,
        "validation_accuracy": accuracies,
        **{name: asdict(timing) for name, timing in timings.items()},
    }


def milliseconds(result: dict, side: str) -> str:
    return f"{1000 * result[side]['median']:.2f}" if side in result else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30, help="measured epochs of each side (default: 30)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each side (default: 2)")
    parser.add_argument("--without-dropout", action="store_true", help="drop nothing on either side")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything that was measured")
    arguments = parser.parse_args()
    load_before = os.getloadavg()[0]
    torch.set_num_threads(arguments.threads)
    build_server()
    subprocess.run(["cargo", "build", "--release"], cwd=REPOSITORY, check=True)
    results = [compare(model, dataset, arguments) for model, dataset in CASES]
    machine = {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "threads": arguments.threads,
        "load_before": load_before,
        "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    print("| model | dataset | PyG edge_index, ms | PyG CSR, ms | Abyssal, ms | faster PyG / Abyssal |")
    print("| --- | --- | --- | --- | --- | --- |")
    for result in results:
        cells = [milliseconds(result, side) for side in ("edge_index", "csr", "abyssal")]
        print(f"| {result['model']} | {result['dataset']} | {' | '.join(cells)} | {result['ratio']:.2f} |")
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine, "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
