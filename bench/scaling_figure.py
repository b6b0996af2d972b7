"""Draws the curves that scaling.py measured.

    python scaling_figure.py results/scaling.json ../docs/figures/scaling.svg
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "abyssal"  # the same curves give the same file
from matplotlib import pyplot

LABELS = {"nodes": "nodes (degree 10)", "edges": "edges (20,000 nodes)", "layers": "layers (20,000 nodes)"}


def main(source: Path, target: Path) -> None:
    report = json.loads(source.read_text())
    figure, rows = pyplot.subplots(2, len(LABELS), figsize=(10, 5.2), sharex="col", layout="constrained")
    for column, (curve, label) in enumerate(LABELS.items()):
        points = report[curve]
        sizes = [point[curve] for point in points]
        seconds, gibibytes = rows[0][column], rows[1][column]
        seconds.plot(sizes, [point["median"] for point in points], "o-", color="#1f6f8b")
        spread = [[point[key] for point in points] for key in ("lower_quartile", "upper_quartile")]
        seconds.fill_between(sizes, *spread, color="#1f6f8b", alpha=0.25)
        gibibytes.plot(sizes, [point["peak_memory"] / 2**30 for point in points], "o-", color="#b5562b")
        gibibytes.set_xlabel(label)
        for axes in (seconds, gibibytes):
            axes.set_ylim(bottom=0)
            axes.set_xlim(left=0)
            axes.grid(alpha=0.3)
    rows[0][0].set_ylabel("seconds an epoch")
    rows[1][0].set_ylabel("peak memory, GiB")
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
