#!/usr/bin/env python3
"""Times epochs of Abyssal and of PyTorch, in turns, on the same data with the same number of threads.

    ABYSSAL_DATA=DIR python3 bench/run.py                        # everything: hours
    ABYSSAL_DATA=DIR python3 bench/run.py --cases ours-full gcn --graphs cora pubmed
    python3 bench/run.py --list

Needs Python and a Rust toolchain: PyTorch and PyTorch Geometric are installed into `bench/.venv`. DIR holds the files of the benchmarks,
as `abyssal datasets fetch` makes it. Results go to `bench/results/NAME.json` as they come, and into a Markdown table beside it.
README.md tells what is measured and how.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cases import Case, all_cases

BENCH = Path(__file__).resolve().parent
REPOSITORY = BENCH.parent
PYTHON = BENCH / ".venv" / "bin" / "python"
SERVER = REPOSITORY / "target" / "release" / "examples" / "epoch_server"

WARM_UP_EPOCHS = 3
LOSS_TOLERANCE = 1e-3  # relative
PAUSE_SECONDS = 0.3  # after every epoch: idle OpenMP threads of one side would spin while the other side works


class Side:
    """A process that runs one epoch for every line it is sent."""

    def __init__(self, command: list[str | Path]) -> None:
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if (greeting := self.read_line()) != "ready":
            raise RuntimeError(f"{command[0]} answered {greeting!r} instead of 'ready'")

    def read_line(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.command[0]} ended early with status {self.process.wait()}; its messages are above")
        return line.strip()

    def epoch(self) -> dict:
        self.process.stdin.write("epoch\n")
        self.process.stdin.flush()
        return json.loads(self.read_line())

    def close(self) -> None:
        """The end of its input ends a side."""
        self.process.stdin.close()
        self.process.wait()


def check_losses(losses: dict[str, list[float]]) -> None:
    """All sides must do the same work: the same losses, epoch by epoch, as long as rounding has not spread."""
    for name, values in losses.items():
        for epoch, (theirs, ours) in enumerate(zip(values, losses["abyssal"]), start=1):
            # Written so that a loss that is not a number fails.
            if not abs(theirs - ours) <= LOSS_TOLERANCE * abs(ours):
                raise RuntimeError(f"losses differ in epoch {epoch}: {name} {theirs:.6f}, Abyssal {ours:.6f}")


def measure(case: Case, threads: int, rounds: int, most_seconds: float) -> dict:
    """Timings of all sides of a case."""
    sides: dict[str, Side] = {}
    try:
        with tempfile.TemporaryDirectory() as directory:
            workload = Path(directory) / "workload.safetensors"
            sides["abyssal"] = Side([SERVER, "--export", workload, "--threads", str(threads), *case.arguments()])
            for variant in case.variants:
                command = [PYTHON, BENCH / "peer.py", workload, "--variant", variant, "--threads", str(threads)]
                sides[variant] = Side(command)
        warm_up = {name: [side.epoch() for _ in range(WARM_UP_EPOCHS)] for name, side in sides.items()}
        losses = {name: [epoch["loss"] for epoch in epochs] for name, epochs in warm_up.items()}
        if case.same_losses:
            check_losses(losses)
        of_a_round = sum(epochs[-1]["seconds"] for epochs in warm_up.values())
        epochs = in_turns(sides, max(3, min(rounds, int(most_seconds / of_a_round))))
    finally:
        for side in sides.values():
            side.close()
    return summary(case, threads, losses, epochs)


def in_turns(sides: dict[str, Side], rounds: int) -> dict[str, list[dict]]:
    """Epochs of all sides, one after the other in every round."""
    epochs: dict[str, list[dict]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            time.sleep(PAUSE_SECONDS)
            if epochs[name] and epochs[name][-1]["seconds"] < 0.05:
                side.epoch()  # wakes the threads of this side
            epochs[name].append(side.epoch())
    return epochs


def summary(case: Case, threads: int, losses: dict[str, list[float]], epochs: dict[str, list[dict]]) -> dict:
    timings = {name: timing([epoch["seconds"] for epoch in values]) for name, values in epochs.items()}
    memory = {name: values[-1]["peak_memory"] for name, values in epochs.items()}
    best = min(case.variants, key=lambda name: timings[name]["median"])
    return {
        "case": case.name,
        "graph": case.graph,
        "settings": case.arguments(),
        "threads": threads,
        "best": best,
        "ratio": timings[best]["median"] / timings["abyssal"]["median"],
        "memory_ratio": memory["abyssal"] / min(memory[name] for name in case.variants),
        "timings": timings,
        "peak_memory": memory,
        "warm_up_losses": losses,
    }


def timing(seconds: list[float]) -> dict:
    lower, median, upper = statistics.quantiles(seconds, n=4, method="inclusive")
    return {"median": median, "lower_quartile": lower, "upper_quartile": upper, "seconds": seconds}


def markdown(report: dict) -> str:
    machine = report["machine"]
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores; PyTorch {machine['torch']}; load before the start {machine['load_before']:.1f}.",
        "",
        "| case | graph | threads | PyTorch, best, ms | Abyssal, ms (quartiles) | PyTorch / Abyssal | memory, Abyssal / PyTorch |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for result in report["results"]:
        ours, theirs = result["timings"]["abyssal"], result["timings"][result["best"]]
        quartiles = f"{1e3 * ours['lower_quartile']:.1f}–{1e3 * ours['upper_quartile']:.1f}"
        cells = [
            result["case"],
            result["graph"],
            str(result["threads"]),
            f"{result['best']} {1e3 * theirs['median']:.1f}",
            f"{1e3 * ours['median']:.1f} ({quartiles})",
            f"{result['ratio']:.2f}",
            f"{result['memory_ratio']:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def prepare() -> None:
    """Builds our side and installs the other one."""
    command = ["cargo", "build", "--release", "-p", "abyssal-train", "--example", "epoch_server"]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", BENCH / ".venv"], check=True)
    requirements = BENCH / "requirements.txt"
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--requirement", requirements], check=True)


def machine() -> dict:
    versions = "import torch, torch_geometric; print(torch.__version__, torch_geometric.__version__)"
    torch, geometric = subprocess.check_output([PYTHON, "-c", versions], text=True).split()
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],  # on a busy machine, waiting OpenMP threads make epochs ten times slower
        "torch": torch,
        "torch_geometric": geometric,
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def parse_arguments(cases: list[Case]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=sorted({case.name for case in cases}), help="only these")
    parser.add_argument("--graphs", nargs="+", choices=sorted({case.graph for case in cases}), help="only these")
    parser.add_argument("--variants", nargs="+", help="only these of PyTorch: compiled, eager, csr, geometric")
    parser.add_argument("--threads", type=int, default=2, help="threads of each side (default: 2)")
    parser.add_argument("--rounds", type=int, default=20, help="measured epochs of each side at most (default: 20)")
    parser.add_argument("--seconds", type=float, default=120, help="fewer rounds where they take longer (default: 120)")
    parser.add_argument("--name", default="all", help="name of the files in bench/results (default: all)")
    parser.add_argument("--list", action="store_true", help="tell what would be measured")
    return parser.parse_args()


def main() -> None:
    cases = all_cases()
    arguments = parse_arguments(cases)
    wanted = lambda names, name: names is None or name in names
    cases = [case for case in cases if wanted(arguments.cases, case.name) and wanted(arguments.graphs, case.graph)]
    if arguments.variants:
        kept = lambda case: tuple(name for name in case.variants if name in arguments.variants)
        cases = [Case(case.name, case.graph, case.settings, kept(case), case.same_losses) for case in cases if kept(case)]
    if arguments.list:
        for case in cases:
            print(f"{case.name} on {case.graph}, against {', '.join(case.variants)}")
        return
    prepare()
    report = {"machine": machine(), "results": [], "failures": []}
    path = BENCH / "results" / f"{arguments.name}.json"
    for case in cases:
        print(f"{case.name} on {case.graph} …", file=sys.stderr)
        try:
            report["results"].append(measure(case, arguments.threads, arguments.rounds, arguments.seconds))
        except RuntimeError as error:
            print(f"{case.name} on {case.graph}: {error}", file=sys.stderr)
            report["failures"].append({"case": case.name, "graph": case.graph, "error": str(error)})
        path.write_text(json.dumps(report, indent=1) + "\n")
        path.with_suffix(".md").write_text(markdown(report))
    print(markdown(report))


if __name__ == "__main__":
    main()
