"""Processes that train an epoch for every line they are sent, and what is told about their timings."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
REPOSITORY = BENCH.parent
PYTHON = BENCH / ".venv" / "bin" / "python"
SERVER = REPOSITORY / "target" / "release" / "examples" / "epoch_server"

PAUSE_SECONDS = 0.3  # before every epoch: idle OpenMP threads of one side would spin while the other side works
SHORT_SECONDS = 0.05  # below this, threads that have to be woken up weigh, and so do caches the other side has filled
SHORT_EPOCHS = 10  # measured in a turn where they are short; training runs one after the other, too
SHORT_WARM_UP = 10  # before them: it takes the system about as many to give two threads that were asleep a core each


class Side:
    """A process that runs one epoch for every line it is sent."""

    def __init__(self, command: list[str | Path]) -> None:
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if (greeting := self.read_line()) != "ready":
            raise RuntimeError(f"{command[0]} answered {greeting!r} instead of 'ready'")

    def __enter__(self) -> "Side":
        return self

    def __exit__(self, *_) -> None:
        """The end of its input ends a side."""
        self.process.stdin.close()
        self.process.wait()

    def read_line(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.command[0]} ended early with status {self.process.wait()}; its messages are above")
        return line.strip()

    def epoch(self) -> dict:
        self.process.stdin.write("epoch\n")
        self.process.stdin.flush()
        return json.loads(self.read_line())


def in_turns(sides: dict[str, Side], rounds: int) -> dict[str, list[dict]]:
    """Epochs of all sides, one after the other in every round; several in a row where those of any side are short."""
    epochs: dict[str, list[dict]] = {name: [] for name in sides}
    short = any(side.epoch()["seconds"] < SHORT_SECONDS for side in sides.values())
    uncounted, counted = (SHORT_WARM_UP, SHORT_EPOCHS) if short else (0, 1)
    for _ in range(rounds):
        for name, side in sides.items():
            time.sleep(PAUSE_SECONDS)
            for _ in range(uncounted):
                side.epoch()
            epochs[name] += [side.epoch() for _ in range(counted)]
    return epochs


def timing(seconds: list[float]) -> dict:
    lower, median, upper = statistics.quantiles(seconds, n=4, method="inclusive")
    return {"median": median, "lower_quartile": lower, "upper_quartile": upper, "seconds": seconds}


def prepare() -> None:
    """Builds our side and installs the other one."""
    command = ["cargo", "build", "--release", "-p", "abyssal-train", "--example", "epoch_server"]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", BENCH / ".venv"], check=True)
    requirements = BENCH / "requirements.txt"
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--requirement", requirements], check=True)


def machine() -> dict:
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],  # on a busy machine, waiting OpenMP threads make epochs ten times slower
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
