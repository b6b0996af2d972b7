#!/usr/bin/env python3
"""Compares what Abyssal and PyTorch Geometric read from the same raw files.

For every benchmark in the data directory: features, labels, edges and split masks have to be equal. Where the two
differ by design (PyTorch Geometric has no unlabelled nodes, so it calls Citeseer's fifteen ones class 0), the record
says so and counts.

    python3 -m venv venv && venv/bin/pip install torch torch_geometric safetensors
    cargo build --release
    venv/bin/python scripts/compare_with_pyg.py --data DIR [--out scripts/results/compare_with_pyg.json]

DIR is a directory with the files of the benchmarks, as `abyssal datasets fetch` makes it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import numpy as np
import torch
import torch_geometric
from safetensors import safe_open
from torch_geometric.datasets import Actor, Amazon, Coauthor, Planetoid, WebKB

REPOSITORY = Path(__file__).resolve().parent.parent
SETS = ("train", "validation", "test")


def ours(program, data, name):
    """The dataset as Abyssal reads it, through `abyssal datasets export`."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "dataset.safetensors"
        command = [program, "datasets", "export", name, "--out", path, "--data-dir", data, "--offline"]
        environment = {**os.environ, "ABYSSAL_CACHE": scratch}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        with safe_open(path, "numpy") as file:
            header = json.loads(file.metadata()["abyssal_dataset"])
            tensors = {key: file.get_tensor(key) for key in file.keys()}
    nodes = header["nodes"]
    if "features" in tensors:
        features = tensors["features"]
    else:
        features = np.zeros((nodes, header["feature_columns"]), np.float32)
        rows = np.repeat(np.arange(nodes), np.diff(tensors["feature_offsets"].astype(np.int64)))
        features[rows, tensors["feature_columns"]] = tensors["feature_values"]
    masks = {}
    for number, split in enumerate(header["splits"]):
        for subset in SETS:
            mask = np.zeros(nodes, bool)
            mask[tensors[f"split.{number}.{subset}"]] = True
            masks[split, subset] = mask
    labels = tensors["labels"].astype(np.int64) - 1  # -1 where there is none
    return features, labels, tensors["edges"].astype(np.int64), masks


def link(raw, files):
    """A directory of PyTorch Geometric's with links to raw files, so that it finds nothing to download."""
    raw.mkdir(parents=True)
    for file in files:
        (raw / file.name).symlink_to(file.resolve())


def theirs(data, name, root):
    """The dataset as PyTorch Geometric reads it: `Data`, and a mask for each named split and set."""
    masks = {}

    def add(split, holder, index=None):
        for subset, key in zip(SETS, ("train_mask", "val_mask", "test_mask")):
            mask = holder[key].numpy()
            masks[split, subset] = mask if index is None else mask[:, index]

    directory = data / name
    if name in ("cora", "citeseer", "pubmed"):
        files = [file for file in directory.iterdir() if file.is_file()]
        splits = list((directory / "splits").iterdir())
        link(root / name / "raw", files)
        graph = Planetoid(root, name, split="public")[0]
        add("public", graph)
        link(root / name / "geom-gcn" / "raw", files + splits)
        ten = Planetoid(root, name, split="geom-gcn")[0]
        for number in range(10):
            add(f"geom-gcn:{number}", ten, number)
    elif name.startswith(("coauthor", "amazon")):
        kind, short = name.split("-")
        kind = {"coauthor": Coauthor, "amazon": Amazon}[kind]
        folder = {"cs": "CS", "physics": "Physics"}.get(short, short.capitalize())
        link(root / folder / "raw", list(directory.glob("*.npz")))
        # Both names of the directory exist in versions of PyTorch Geometric.
        link(root / short / "raw", list(directory.glob("*.npz")))
        graph = kind(root, short)[0]
    else:
        files = [file for file in directory.iterdir() if file.is_file()] + list((directory / "splits").iterdir())
        if name == "actor":
            link(root / "actor" / "raw", files)
            graph = Actor(root / "actor")[0]
        else:
            link(root / name / "raw", files)
            graph = WebKB(root, name)[0]
        for number in range(10):
            add(f"geom-gcn:{number}", graph, number)
    return graph, masks


def pairs(edges, nodes, directed):
    """Edges without loops as a sorted set of numbers."""
    source, target = edges
    if not directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    codes = source * nodes + target
    return np.unique(codes[source != target])


def compare(program, data, name, root):
    features, labels, edges, masks = ours(program, data, name)
    graph, their_masks = theirs(data, name, root)
    nodes = len(labels)
    npz = name.startswith(("coauthor", "amazon"))
    # PyTorch Geometric binarises the features of the npz files while reading; for us that is a transform.
    features = (features > 0).astype(np.float32) if npz else features
    their_features = graph.x.to_dense().numpy() if graph.x.is_sparse else graph.x.numpy()
    # It symmetrises all but the geom-gcn graphs; those it keeps as they are stored.
    directed = name in ("texas", "wisconsin", "cornell", "actor")
    labelled = labels >= 0
    record = {
        "dataset": name,
        "nodes": nodes,
        "features_equal": bool(np.array_equal(features, their_features)),
        "labels_equal": bool(np.array_equal(labels[labelled], graph.y.numpy()[labelled])),
        "unlabelled_nodes_they_call_class_0": int((~labelled).sum()),
        "edges_compared_with_direction": directed,
        "edges_equal": bool(
            np.array_equal(pairs(edges.T, nodes, directed), pairs(graph.edge_index.numpy(), nodes, directed))
        ),
        "splits_compared": len(their_masks) // 3,
        "splits_equal": all(np.array_equal(masks[key], mask) for key, mask in their_masks.items()),
    }
    record["equal"] = all(value for key, value in record.items() if key.endswith("_equal"))
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory of benchmarks")
    parser.add_argument("--program", type=Path, default=REPOSITORY / "target/release/abyssal")
    parser.add_argument("--out", type=Path, help="where to write the record")
    arguments = parser.parse_args()
    names = "cora citeseer pubmed coauthor-cs coauthor-physics amazon-computers amazon-photo".split()
    names += "texas wisconsin cornell actor".split()
    records = []
    for name in names:
        with tempfile.TemporaryDirectory() as root:
            record = compare(arguments.program, arguments.data, name, Path(root))
        print(f"{name:18} {'equal' if record['equal'] else 'DIFFERENT'}  {json.dumps(record)}", flush=True)
        records.append(record)
    version = subprocess.run([arguments.program, "--version"], capture_output=True, text=True, check=True).stdout
    result = {
        "abyssal": version.strip(),
        "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__,
        "numpy": np.__version__,
        "datasets": records,
    }
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(result, indent=2) + "\n")
    sys.exit(0 if all(record["equal"] for record in records) else 1)


if __name__ == "__main__":
    main()
