#!/usr/bin/env python3
"""Measures loading a dataset of the size of ogbn-arxiv, from its files and from the cache.

The real archive is not at hand, so its files are made up: as many nodes, edges, features and classes, with random
numbers. They lie unpacked, since an archive with another sum than the real one is refused. Needs numpy and a built
program:

    cargo build --release
    python3 scripts/arxiv_scale.py [--out scripts/results/arxiv_scale.json]
"""

import argparse
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
NODES, EDGES, FEATURES, CLASSES = 169_343, 1_166_243, 128, 40
SPLIT = {"train": (0, 90_941), "valid": (90_941, 120_740), "test": (120_740, NODES)}


def table(rows, form):
    import numpy as np

    text = io.BytesIO()
    np.savetxt(text, rows, fmt=form, delimiter=",")
    return gzip.compress(text.getvalue(), 1)


def write_files(directory):
    import numpy as np

    random = np.random.default_rng(1)
    files = {
        "raw/num-node-list.csv.gz": table([NODES], "%d"),
        "raw/num-edge-list.csv.gz": table([EDGES], "%d"),
        "raw/node-label.csv.gz": table(random.integers(0, CLASSES, NODES), "%d"),
        "raw/edge.csv.gz": table(random.integers(0, NODES, (EDGES, 2)), "%d"),
        "raw/node-feat.csv.gz": table(random.normal(0, 0.1, (NODES, FEATURES)), "%.6f"),
    }
    for name, (start, end) in SPLIT.items():
        files[f"split/time/{name}.csv.gz"] = table(np.arange(start, end), "%d")
    for name, contents in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(contents)


def run(command, environment):
    """Seconds and largest memory in bytes."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return time.monotonic() - start, usage.ru_maxrss * 1024, json.loads(output)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=REPOSITORY / "target/release/abyssal")
    parser.add_argument("--out", type=Path, help="where to write the record")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        return write_files(arguments.write)
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory) / "data"
        # In a process of its own: the memory of a child counts what its parent had when it was born.
        subprocess.run([sys.executable, __file__, "--write", data / "ogbn-arxiv"], check=True)
        environment = {**os.environ, "ABYSSAL_CACHE": str(Path(directory) / "cache")}
        command = [arguments.program, "datasets", "info", "ogbn-arxiv", "--json", "--data-dir", data]
        record = {"nodes": NODES, "listed_edges": EDGES, "features": FEATURES}
        for source in ("files", "cache"):
            seconds, memory, info = run(command, environment)
            assert (info["nodes"], info["listed_edges"], info["classes"]) == (NODES, EDGES, CLASSES)
            record[source] = {"seconds": round(seconds, 2), "megabytes": round(memory / 1e6)}
            print(f"{source}: {seconds:.2f} s, {memory / 1e6:.0f} MB")
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
