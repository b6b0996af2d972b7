"""Times an epoch of 32-layer R-SoftGraphAIN: Abyssal against PyTorch, in turns, on the same generated graph.

    pip install -r requirements.txt
    python compare.py                          # both gradient modes, 20 rounds, 2 threads
    python compare.py --gradient full --json result.json
    python compare.py --peer-only              # PyTorch alone, needs no Rust toolchain

An epoch is one training step and one evaluation with validation accuracy. README.md tells how both sides are set up.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from peer import Epoch, Peer

REPOSITORY = Path(__file__).resolve().parent.parent

# The size of Cora.
NODES, EDGES, FEATURES, NON_ZEROS, CLASSES = 2708, 5278, 1433, 49216, 7
SPLIT_SIZES = {"train": 140, "validation": 500, "test": 1000}
EDGE_HOMOPHILY = 0.8

CONFIG = {
    "layers": 32,
    "hidden": 64,
    "strength": 0.01,
    "exponent": 1.0,
    "rank": 64,
    "centering": "aggregated",
    "head": "linear",
    "aggregated": 0.9,
    "residual": 0.2,
    "initial": 0.5,
    "residual_memory": 0.4,
    "initial_decay": 0.3,
    "learning_rate": 0.01,
    "weight_decay": 1e-4,
    "classes": CLASSES,
    "nodes": NODES,
    "features": FEATURES,
}

WARM_UP_EPOCHS = 3
LOSS_TOLERANCE = 1e-3  # relative
PAUSE_SECONDS = 0.3  # after every epoch: idle OpenMP threads of one side would spin while the other side works


def draw_edges(random: np.random.Generator, labels: np.ndarray) -> np.ndarray:
    """Unique undirected edges with heavy-tailed degrees, most of them inside a class."""
    attraction = (1 - random.random(NODES)) ** -0.5
    everyone = np.arange(NODES)
    edges: set[tuple[int, int]] = set()
    while len(edges) < EDGES:
        source = int(random.choice(NODES, p=attraction / attraction.sum()))
        inside = random.random() < EDGE_HOMOPHILY
        candidates = np.flatnonzero(labels == labels[source]) if inside else everyone
        weights = attraction[candidates]
        target = int(random.choice(candidates, p=weights / weights.sum()))
        if source != target:
            edges.add((min(source, target), max(source, target)))
    return np.array(sorted(edges), dtype=np.int64)


def draw_features(random: np.random.Generator, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Bags of words in CSR form, rows summing to one; words have unequal popularity and prefer a class."""
    counts = 1 + random.multinomial(NON_ZEROS - NODES, np.full(NODES, 1 / NODES))
    popularity = random.permutation(np.arange(1, FEATURES + 1) ** -0.7)
    topics = random.integers(CLASSES, size=FEATURES)
    rows = []
    for label, count in zip(labels, counts):
        weights = popularity * np.where(topics == label, 3.0, 1.0)
        rows.append(np.sort(random.choice(FEATURES, size=count, replace=False, p=weights / weights.sum())))
    return {
        "features.row_offsets": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "features.columns": np.concatenate(rows).astype(np.int64),
        "features.values": np.repeat(1 / counts, counts).astype(np.float32),
    }


def draw_splits(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Disjoint node masks."""
    boundaries = np.cumsum(list(SPLIT_SIZES.values()))
    parts = np.split(random.permutation(NODES), boundaries)
    return {name: np.isin(np.arange(NODES), part).astype(np.uint8) for name, part in zip(SPLIT_SIZES, parts)}


def draw_parameters(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Glorot-uniform weights and a zero bias."""
    hidden = CONFIG["hidden"]
    widths = [FEATURES] + [hidden] * CONFIG["layers"]
    shapes = {f"layers.{layer}.weight": shape for layer, shape in enumerate(zip(widths, widths[1:]))}
    shapes["head.weight"] = (hidden, CLASSES)
    parameters = {"parameters.head.bias": np.zeros((1, CLASSES), dtype=np.float32)}
    for name, shape in shapes.items():
        limit = np.sqrt(6 / sum(shape))
        parameters[f"parameters.{name}"] = random.uniform(-limit, limit, size=shape).astype(np.float32)
    return parameters


def write_workload(path: Path, gradient: str, dropout: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    labels = random.integers(CLASSES, size=NODES)
    tensors = {
        "edges": draw_edges(random, labels),
        "labels": labels,
        **draw_features(random, labels),
        **draw_splits(random),
        **draw_parameters(random),
    }
    save_file(tensors, path, metadata={"config": json.dumps(CONFIG | {"gradient": gradient, "hidden_dropout": dropout})})


class Server:
    """Abyssal's side: a process that runs one epoch for every line it is sent. Given is a workload, or settings."""

    def __init__(self, given: list[Path | str], threads: int) -> None:
        binary = REPOSITORY / "target" / "release" / "examples" / "epoch_server"
        self.process = subprocess.Popen(
            [binary, *given, "--threads", str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if (greeting := self.read_line()) != "ready":
            sys.exit(f"epoch_server answered {greeting!r} instead of 'ready'")

    def read_line(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"epoch_server ended early with status {self.process.wait()}; its messages are above")
        return line.strip()

    def epoch(self) -> Epoch:
        self.process.stdin.write("epoch\n")
        self.process.stdin.flush()
        return Epoch(**json.loads(self.read_line()))

    def close(self) -> None:
        """The end of its input ends the server."""
        self.process.stdin.close()
        self.process.wait()


def build_server() -> None:
    command = ["cargo", "build", "--release", "-p", "abyssal-train", "--example", "epoch_server"]
    if subprocess.run(command, cwd=REPOSITORY).returncode != 0:
        sys.exit("building epoch_server failed; --peer-only measures PyTorch alone")


@dataclass(frozen=True)
class Timing:
    """What one side needed for its epochs, in seconds."""

    median: float
    lower_quartile: float
    upper_quartile: float
    seconds: list[float]

    @classmethod
    def of(cls, seconds: list[float]) -> "Timing":
        lower, median, upper = np.quantile(seconds, [0.25, 0.5, 0.75]).tolist()
        return cls(median, lower, upper, seconds)


def check_losses(losses: dict[str, list[float]]) -> None:
    """Both sides must do the same work: the same losses, epoch by epoch, as long as rounding has not spread."""
    for epoch, (peer, ours) in enumerate(zip(losses["pytorch"], losses["abyssal"]), start=1):
        # Written so that a loss that is not a number fails.
        if not abs(peer - ours) <= LOSS_TOLERANCE * abs(peer):
            sys.exit(f"the losses differ in epoch {epoch}: PyTorch {peer:.6f}, Abyssal {ours:.6f}; nothing to compare")


def measure(
    sides: dict[str, Peer | Server], rounds: int, same_losses: bool
) -> tuple[dict[str, Timing], dict[str, list[float]]]:
    """Timings of the measured rounds and losses of the warm-up epochs, which agree unless something is dropped."""
    losses = {name: [side.epoch().loss for _ in range(WARM_UP_EPOCHS)] for name, side in sides.items()}
    if "abyssal" in sides and same_losses:
        check_losses(losses)
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            time.sleep(PAUSE_SECONDS)
            seconds[name].append(side.epoch().seconds)
    return {name: Timing.of(values) for name, values in seconds.items()}, losses


def compare(gradient: str, arguments: argparse.Namespace) -> dict:
    """Everything about one gradient mode."""
    with tempfile.TemporaryDirectory() as directory:
        workload = Path(directory) / "workload.safetensors"
        write_workload(workload, gradient, arguments.dropout, arguments.seed)
        sides: dict[str, Peer | Server] = {
            "pytorch": Peer(workload, arguments.threads, arguments.eager, arguments.sparse_product)
        }
        if not arguments.peer_only:
            sides["abyssal"] = Server([workload], arguments.threads)
        timings, losses = measure(sides, arguments.rounds, same_losses=arguments.dropout == 0)
        if not arguments.peer_only:
            sides["abyssal"].close()

    result = {"gradient": gradient, "warm_up_losses": losses, **{name: asdict(t) for name, t in timings.items()}}
    if not arguments.peer_only:
        result["ratio"] = timings["pytorch"].median / timings["abyssal"].median
    return result


def cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cell(result: dict, side: str) -> str:
    if side not in result:
        return "–"
    timing = result[side]
    return f"{timing['median']:.4f} ({timing['lower_quartile']:.4f}–{timing['upper_quartile']:.4f})"


def markdown(machine: dict, results: list[dict]) -> str:
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['threads']} threads; "
        f"PyTorch {machine['torch']}, {machine['peer']}; dropout {machine['dropout']}; load average before the start {machine['load_before']:.1f}",
        "",
        "| gradient | PyTorch, s (quartiles) | Abyssal, s (quartiles) | PyTorch / Abyssal |",
        "| --- | --- | --- | --- |",
    ]
    for result in results:
        ratio = f"{result['ratio']:.2f}" if "ratio" in result else "–"
        lines.append(f"| {result['gradient']} | {cell(result, 'pytorch')} | {cell(result, 'abyssal')} | {ratio} |")
    return "\n".join(lines)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gradient", choices=["detached", "full", "both"], default="both")
    parser.add_argument("--rounds", type=int, default=20, help="measured epochs of each side (default: 20)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each side (default: 2)")
    parser.add_argument("--dropout", type=float, default=0.0, help="dropout of every layer (default: 0)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the generated graph (default: 0)")
    parser.add_argument("--peer-only", action="store_true", help="measure PyTorch alone")
    parser.add_argument("--eager", action="store_true", help="run PyTorch without torch.compile")
    parser.add_argument("--sparse-product", choices=["embedding_bag", "csr"], default="embedding_bag",
                        help="PyTorch's kernel for sparse times dense (default: embedding_bag, the fastest)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything that was measured")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    load_before = os.getloadavg()[0]  # on a busy machine, waiting OpenMP threads make epochs ten times slower
    if not arguments.peer_only:
        build_server()
    gradients = ["detached", "full"] if arguments.gradient == "both" else [arguments.gradient]
    results = [compare(gradient, arguments) for gradient in gradients]
    machine = {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "threads": arguments.threads,
        "load_before": load_before,
        "torch": torch.__version__,
        "dropout": arguments.dropout,
        "peer": f"{'eager' if arguments.eager else 'compiled'}, {arguments.sparse_product}",
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    print(markdown(machine, results))
    if arguments.json:
        report = {"machine": machine, "seed": arguments.seed, "config": CONFIG, "results": results}
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
