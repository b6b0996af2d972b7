#!/usr/bin/env python3
"""Compares recipes by rehearsals, and records what comes out.

    cargo build --release
    python3 scripts/rehearse.py --runs DIR [--datasets texas] [--recipes fsgnn-10 gprgnn-10] [--workers 2]

Every (dataset, recipe) is two commands, `abyssal train --dataset D ... --set data.rehearsal=first ...` and the same with
`second`: half of the validation nodes choose the epochs of teachers and student, and the other half, which chose nothing,
judges. Test nodes are in no set of these runs. Runs are repeated on all ten splits of geom-gcn, or with five seeds where a
dataset has one public split. They stay in DIR, and what is complete there is not trained again. The record
(`scripts/results/rehearsals.json`) has the commands, and the accuracies of students and of their teachers: the mean, and
those of all splits or seeds, in the first rehearsal and in the second; in a recipe of several rounds, the means of the
students of earlier rounds as well, which are the students of the recipe with so many rounds. The script needs nothing but
Python.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rehearsed_recipes import BY_SEED, RECIPES

REPOSITORY = Path(__file__).resolve().parent.parent
REHEARSALS = ["first", "second"]


def command(dataset: str, settings: list[str], rehearsal: str) -> list[str]:
    """What computes one rehearsal of a recipe."""
    given = ["train", "--dataset", dataset]
    given += ["--seeds", "5"] if dataset in BY_SEED else ["--split", "geom-gcn"]
    for setting in [f"data.rehearsal={rehearsal}", *settings]:
        given += ["--set", setting]
    return given


def train(program: Path, given: list[str], directory: Path) -> None:
    """Trains what is not trained yet."""
    start = ["train", "--resume", directory] if (directory / "plan.json").exists() else [*given, "--out", directory]
    done = subprocess.run([program, *start, "--threads", "1", "--quiet"], stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{directory.name}: training failed; its messages are above")


def judged(results: list[dict]) -> list[float]:
    """What the judging half says about students, in percent."""
    return [100 * result["selected"]["test_accuracy"] for result in results]


def collect(commands: list[list[str]], directories: list[Path]) -> dict:
    """All runs of a recipe as one entry of the record."""

    def results_in(pattern: str) -> list[dict]:
        paths = [path for directory in directories for path in sorted(directory.glob(f"{pattern}/result.json"))]
        return [json.loads(path.read_text()) for path in paths]

    results = results_in("r-soft-graph-ain/**")
    students = judged(results)
    their_teachers = [100 * result["teacher"]["test_accuracy"] for result in results]
    earlier = itertools.takewhile(bool, (judged(results_in(f"teachers/round-{number}-*")) for number in itertools.count(1)))
    return {
        "commands": [" ".join(["abyssal", *given]) for given in commands],
        "student": round(statistics.fmean(students), 2),
        "teacher": round(statistics.fmean(their_teachers), 2),
        "students": [round(value, 2) for value in students],
        "teachers": [round(value, 2) for value in their_teachers],
        "students_of_earlier_rounds": [round(statistics.fmean(values), 2) for values in earlier],
        "version": results[0]["version"],
        "dataset": results[0]["dataset"],
    }


def rehearse(dataset: str, recipe: str, arguments: argparse.Namespace) -> tuple[str, dict]:
    """Both rehearsals of a recipe."""
    settings = RECIPES[dataset][recipe]
    commands = [command(dataset, settings, rehearsal) for rehearsal in REHEARSALS]
    directories = [arguments.runs / f"{dataset}-{recipe}-{rehearsal}" for rehearsal in REHEARSALS]
    for given, directory in zip(commands, directories):
        train(arguments.program, given, directory)
    return f"{dataset}/{recipe}", collect(commands, directories)


def across(record: dict, datasets: list[str]) -> str:
    """A row a recipe that all these datasets have, a column a dataset: students (their teachers), in percent."""

    def cell(dataset: str, recipe: str) -> str:
        entry = record.get(f"{dataset}/{recipe}")
        return "–" if entry is None else f"{entry['student']:.2f} ({entry['teacher']:.2f})"

    first, *others = (RECIPES[dataset] for dataset in datasets)
    shared = [recipe for recipe in first if all(recipe in recipes for recipes in others)]
    lines = [f"| recipe | {' | '.join(datasets)} |", "| --- |" + " ---: |" * len(datasets)]
    for recipe in shared:
        lines.append(f"| `{recipe}` | {' | '.join(cell(dataset, recipe) for dataset in datasets)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, required=True, help="where runs are kept")
    parser.add_argument("--datasets", nargs="+", default=list(RECIPES))
    parser.add_argument("--recipes", nargs="+", help="all of a dataset if none is given")
    parser.add_argument("--workers", type=int, default=2, help="recipes at a time")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "scripts" / "results" / "rehearsals.json")
    parser.add_argument("--program", type=Path, default=REPOSITORY / "target" / "release" / "abyssal")
    arguments = parser.parse_args()
    arguments.runs.mkdir(parents=True, exist_ok=True)
    record = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    wanted = [
        (dataset, recipe)
        for dataset in arguments.datasets
        for recipe in RECIPES[dataset]
        if arguments.recipes is None or recipe in arguments.recipes
    ]
    with ThreadPoolExecutor(arguments.workers) as workers:
        for name, entry in workers.map(lambda one: rehearse(*one, arguments), wanted):
            record[name] = entry
            arguments.out.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n")
            print(f"{name}: student {entry['student']:.2f}, teacher {entry['teacher']:.2f}", flush=True)
    by_split = [dataset for dataset in RECIPES if dataset not in BY_SEED]
    for datasets in [*([dataset] for dataset in BY_SEED), by_split]:
        print(f"\n{across(record, datasets)}")


if __name__ == "__main__":
    main()
