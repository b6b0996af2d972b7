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
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from cases import Case, all_cases
from side import BENCH, PYTHON, SERVER, Side, in_turns, machine, prepare, timing

WARM_UP_EPOCHS = 3
LOSS_TOLERANCE = 1e-3  # relative


def check_losses(losses: dict[str, list[float]]) -> None:
    """All sides must do the same work: the same losses, epoch by epoch, as long as rounding has not spread."""
    for name, values in losses.items():
        for epoch, (theirs, ours) in enumerate(zip(values, losses["abyssal"]), start=1):
            # Written so that a loss that is not a number fails.
            if not abs(theirs - ours) <= LOSS_TOLERANCE * abs(ours):
                raise RuntimeError(f"losses differ in epoch {epoch}: {name} {theirs:.6f}, Abyssal {ours:.6f}")


def measure(case: Case, threads: int, rounds: int, most_seconds: float) -> dict:
    """Timings of all sides of a case."""
    with tempfile.TemporaryDirectory() as directory:
        workload = Path(directory) / "workload.safetensors"
        ours = [SERVER, "--export", workload, "--threads", str(threads), "--memory", case.memory, *case.arguments()]
        peer = [PYTHON, BENCH / "peer.py", workload, "--threads", str(threads), "--variant"]
        commands = {"abyssal": ours} | {variant: [*peer, variant] for variant in case.variants}
        if case.one_at_a_time:
            # Ours before and after the others: a machine that has become slower meanwhile shows.
            blocks = [{name: command} for name, command in commands.items()] + [{"abyssal": ours}]
        else:
            blocks = [commands]
        losses: dict[str, list[float]] = {}
        epochs: dict[str, list[dict]] = {}
        for block in blocks:
            for name, (warm_up, measured) in measure_block(block, rounds, most_seconds).items():
                losses[name] = [epoch["loss"] for epoch in warm_up]
                epochs.setdefault(name, []).extend(measured)
    if case.same_losses:
        check_losses(losses)
    return summary(case, threads, losses, epochs)


def measure_block(commands: dict[str, list], rounds: int, most_seconds: float) -> dict[str, tuple[list, list]]:
    """Epochs to warm up and measured ones of processes that live at the same time."""
    with ExitStack() as stack:
        sides = {name: stack.enter_context(Side(command)) for name, command in commands.items()}
        warm_up = {name: [side.epoch() for _ in range(WARM_UP_EPOCHS)] for name, side in sides.items()}
        of_a_round = sum(epochs[-1]["seconds"] for epochs in warm_up.values())
        measured = in_turns(sides, max(3, min(rounds, int(most_seconds / of_a_round))))
    return {name: (warm_up[name], measured[name]) for name in commands}


def summary(case: Case, threads: int, losses: dict[str, list[float]], epochs: dict[str, list[dict]]) -> dict:
    timings = {name: timing([epoch["seconds"] for epoch in values]) for name, values in epochs.items()}
    memory = {name: values[-1]["peak_memory"] for name, values in epochs.items()}
    # What shares passes as ours does has a ratio of its own.
    usual = [name for name in case.variants if name != "shared"]
    best = min(usual, key=lambda name: timings[name]["median"])
    return {
        "case": case.name,
        "graph": case.graph,
        "settings": case.arguments(),
        "memory": case.memory,
        "threads": threads,
        "best": best,
        "ratio": timings[best]["median"] / timings["abyssal"]["median"],
        "memory_ratio": memory["abyssal"] / min(memory[name] for name in usual),
        "timings": timings,
        "peak_memory": memory,
        "warm_up_losses": losses,
    }


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


def versions() -> dict:
    command = "import torch, torch_geometric; print(torch.__version__, torch_geometric.__version__)"
    torch, geometric = subprocess.check_output([PYTHON, "-c", command], text=True).split()
    commit = subprocess.check_output(["git", "describe", "--always", "--dirty", "--abbrev=10"], cwd=BENCH, text=True).strip()
    return {"torch": torch, "torch_geometric": geometric, "abyssal": commit}


def parse_arguments(cases: list[Case]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=sorted({case.name for case in cases}), help="only these")
    parser.add_argument("--graphs", nargs="+", choices=sorted({case.graph for case in cases}), help="only these")
    parser.add_argument("--variants", nargs="+", help="only these of PyTorch: compiled, shared, eager, csr, geometric")
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
    if arguments.variants == ["shared"]:
        sys.exit("shared is measured beside another variant, to which ratios are: give compiled as well")
    if arguments.variants:
        kept = lambda case: tuple(name for name in case.variants if name in arguments.variants)
        cases = [replace(case, variants=kept(case)) for case in cases if kept(case)]
    if arguments.list:
        for case in cases:
            print(f"{case.name} on {case.graph}, against {', '.join(case.variants)}")
        return
    prepare()
    report = {"machine": machine() | versions(), "results": [], "failures": []}
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
