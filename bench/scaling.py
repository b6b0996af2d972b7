#!/usr/bin/env python3
"""How the cost of our epochs grows with nodes, edges, layers and threads.

    ABYSSAL_DATA=DIR python3 bench/scaling.py           # a quarter of an hour on a quiet machine
    python3 bench/scaling.py --curves layers            # one of: nodes edges layers threads

R-SoftGraphAIN with full gradients, an epoch as in run.py. Curves are measured on graphs of the contextual stochastic block model, threads on
the graphs of run.py, epochs with one and two threads in turns. Results go to `bench/results/scaling.json` and, as a
picture, to `docs/figures/scaling.svg`.
"""

import argparse
import json
import subprocess
from contextlib import ExitStack

from cases import GRAPHS, OURS, WIDTHS
from side import BENCH, PYTHON, REPOSITORY, SERVER, Side, in_turns, machine, prepare, timing

WARM_UP_EPOCHS = 2
ROUNDS = 7
RESULTS = BENCH / "results" / "scaling.json"
FIGURE = REPOSITORY / "docs" / "figures" / "scaling.svg"

NODES, DEGREE, LAYERS = 20_000, 10, 16
CURVES = {
    "nodes": [10_000, 20_000, 40_000, 80_000, 160_000],
    "edges": [50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000],
    "layers": [8, 16, 32, 64, 128],
}


def settings(nodes: int = NODES, edges: int | None = None, layers: int = LAYERS) -> dict:
    degree = DEGREE if edges is None else 2 * edges / nodes
    graph = {"name": "csbm", "nodes": nodes, "average_degree": degree, "features": 64, "classes": 8}
    sizes = {"model.layers": layers, "model.hidden": 64, "model.gradient": "full"}
    return OURS | {f"data.{key}": value for key, value in graph.items()} | sizes


def server(values: dict, threads: int) -> list:
    settings = [f"{key}={value}" for key, value in values.items()]
    return [SERVER, "--export", "-", "--threads", str(threads), "--memory", "auto", *settings]


def measure(commands: dict[str, list]) -> dict[str, dict]:
    with ExitStack() as stack:
        sides = {name: stack.enter_context(Side(command)) for name, command in commands.items()}
        for side in sides.values():
            for _ in range(WARM_UP_EPOCHS):
                side.epoch()
        epochs = in_turns(sides, ROUNDS)
    return {
        name: timing([epoch["seconds"] for epoch in of_side]) | {"peak_memory": of_side[-1]["peak_memory"]}
        for name, of_side in epochs.items()
    }


def measure_curve(name: str, threads: int) -> list[dict]:
    points = []
    for value in CURVES[name]:
        measured = measure({"abyssal": server(settings(**{name: value}), threads)})["abyssal"]
        points.append({name: value} | measured)
        print(f"{name} {value}: {1e3 * measured['median']:.1f} ms", flush=True)
    return points


def measure_threads() -> list[dict]:
    """One thread against two. The largest graph has fewer layers: two processes share the memory."""
    points = []
    for graph, of_graph in GRAPHS.items():
        layers = 8 if graph == "arxiv-size" else 32
        sizes = {"model.hidden": WIDTHS.get(graph, 64), "model.gradient": "full", "model.layers": layers}
        measured = measure({f"{threads} threads": server(OURS | of_graph | sizes, threads) for threads in (1, 2)})
        ratio = measured["1 threads"]["median"] / measured["2 threads"]["median"]
        points.append({"graph": graph, "layers": layers, "ratio": ratio} | measured)
        print(f"{graph}, {layers} layers: two threads are {ratio:.2f} times as fast", flush=True)
    return points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--curves", nargs="+", choices=[*CURVES, "threads"], default=[*CURVES, "threads"], help="only these")
    parser.add_argument("--threads", type=int, default=2, help="threads for the curves (default: 2)")
    arguments = parser.parse_args()
    prepare()
    report = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    report |= {"machine": machine(), "threads_of_curves": arguments.threads}
    for curve in arguments.curves:
        report[curve] = measure_threads() if curve == "threads" else measure_curve(curve, arguments.threads)
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    FIGURE.parent.mkdir(exist_ok=True)
    subprocess.run([PYTHON, BENCH / "scaling_figure.py", RESULTS, FIGURE], check=True)


if __name__ == "__main__":
    main()
