#!/usr/bin/env python3
"""Writes the tables of docs/performance.md from the records in bench/results.

    python3 bench/table.py
"""

import json

from cases import WIDTHS
from side import BENCH

PAGE = BENCH.parent / "docs" / "performance.md"
# The mark of a table on the page, and its records; later ones replace cases of earlier ones.
TABLES = {
    "side-by-side": (
        "zen5-ours",
        "zen5-others",
        "zen5-texas",
        "zen5-examples",
        "zen5-large",
        "zen5-large-others",
        "zen5-large-gcnii",
    ),
    "side-by-side-xeon": ("xeon", "arxiv", "arxiv-gcnii", "xeon-ours", "xeon-large", "xeon-saving"),
    "side-by-side-epyc": ("examples", "wide", "small", "pubmed", "large", "ours", "arxiv-detached", "arxiv-saving"),
}
GRAPHS = {
    "texas": "Texas",
    "cora": "Cora",
    "citeseer": "Citeseer",
    "pubmed": "Pubmed",
    "physics": "Physics",
    "arxiv-size": "size of arXiv",
}
CASES = {
    "ours-detached": "R-SoftGraphAIN, 32 layers, detached",
    "ours-full": "R-SoftGraphAIN, 32 layers, full",
    "ours-detached-saving": "R-SoftGraphAIN, 32 layers, detached",
    "ours-full-saving": "R-SoftGraphAIN, 32 layers, full",
    "gcnii": "GCNII, 64 layers",
    "gcn": "GCN, 2 layers",
    "gat": "GAT, 2 layers",
    "gcn-dropout": "GCN as PyTorch Geometric's example",
    "gat-dropout": "GAT as PyTorch Geometric's example",
}
HEAD = [
    "| workload | graph | PyTorch, best | ours | PyTorch / ours | of the fastest epochs | PyTorch sharing passes / ours | eager PyTorch / ours | memory, ours / PyTorch |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
]


def duration(seconds: float) -> str:
    """Two or three digits that count."""
    if seconds >= 9.95:
        return f"{seconds:.0f} s"
    if seconds >= 0.5:
        return f"{seconds:.2f} s"
    milliseconds = 1e3 * seconds
    if milliseconds >= 9.95:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds:.1f} ms" if milliseconds >= 0.5 else f"{1e3 * milliseconds:.0f} µs"


def factor(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2f}"


def row(result: dict) -> str:
    """All of a row but the workload."""
    medians = {name: timing["median"] for name, timing in result["timings"].items()}
    ours, best = medians["abyssal"], medians[result["best"]]
    # Of as many epochs of each side: ours has more where it runs before and after the other one.
    epochs = min(len(timing["seconds"]) for timing in result["timings"].values())
    fastest = {name: min(timing["seconds"][:epochs]) for name, timing in result["timings"].items()}
    width = f", d={WIDTHS[result['graph']]}" if result["case"].startswith("ours") and result["graph"] in WIDTHS else ""
    cells = [
        GRAPHS[result["graph"]] + width,
        duration(best),
        duration(ours),
        factor(best / ours),
        factor(min(fastest[name] for name in fastest if name not in ("abyssal", "shared")) / fastest["abyssal"]),
        *(factor(medians[name] / ours) if name in medians else "" for name in ("shared", "eager")),
        f"{result['memory_ratio']:.2f}",
    ]
    return " | ".join(cells)


def table(records: tuple[str, ...]) -> str:
    results = {}
    for record in records:
        for result in json.loads((BENCH / "results" / f"{record}.json").read_text())["results"]:
            results[result["case"], result["graph"]] = result
    lines = list(HEAD)
    for case, name in CASES.items():
        for graph in GRAPHS:
            if result := results.get((case, graph)):
                if case.endswith("-saving"):
                    name += f", `--memory {result['memory']}`"
                lines.append(f"| {name} | {row(result)} |")
                name = ""
    return "\n".join(lines)


def main() -> None:
    page = PAGE.read_text()
    for mark, records in TABLES.items():
        begin, end = f"<!-- begin {mark} -->\n", f"<!-- end {mark} -->\n"
        before, rest = page.split(begin)
        _, after = rest.split(end)
        page = f"{before}{begin}\n{table(records)}\n\n{end}{after}"
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
