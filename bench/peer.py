"""The other side: trains a workload in PyTorch, an epoch for every line on standard input.

    python peer.py WORKLOAD.safetensors --variant compiled --threads 2

Variants: `compiled` (torch.compile, sparse products as embedding bags), `shared` (the same, where evaluation is the forward pass of the next
step), `eager` (`compiled` without torch.compile), `csr` (eager, products with CSR tensors), `geometric` (PyTorch Geometric, as its examples
are written).
"""

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from models import MODELS
from workload import Workload

VARIANTS = ("compiled", "shared", "eager", "csr", "geometric")


class Peer:
    """A model with its optimiser."""

    def __init__(self, workload: Workload, variant: str) -> None:
        self.workload = workload
        name, settings = workload.model["name"], workload.train_settings
        if variant == "geometric":
            from models.geometric import GEOMETRIC

            torch.manual_seed(0)
            self.module = GEOMETRIC[name](workload)
            self.scores, parameters = self.module, list(self.module.parameters())
        else:
            self.module, model = None, MODELS[name](workload)
            # Without fullgraph, a part that cannot be compiled would silently run eagerly.
            compiled = variant in ("compiled", "shared")
            self.scores = torch.compile(model.__call__, fullgraph=True, dynamic=False) if compiled else model
            parameters = list(workload.parameters.values())
        rates = {"lr": settings["learning_rate"], "weight_decay": settings["weight_decay"]}
        self.optimizer = torch.optim.Adam(parameters, **rates, fused=True)
        self.shares_passes = variant == "shared"
        self.next_scores: torch.Tensor | None = None  # at the present weights, with their way back

    def epoch(self) -> dict:
        """One training step and one evaluation; the loss is the one before the step. Passes can be shared where nothing is dropped."""
        train, validation, labels = self.workload.train, self.workload.validation, self.workload.labels
        start = time.perf_counter()
        self.set_training(True)
        self.optimizer.zero_grad(set_to_none=True)
        scores = self.scores() if self.next_scores is None else self.next_scores
        loss = cross_entropy(scores[train], labels[train])
        loss.backward()
        self.optimizer.step()
        self.set_training(False)
        with torch.set_grad_enabled(self.shares_passes):
            scores = self.scores()
        self.next_scores = scores if self.shares_passes else None
        with torch.no_grad():
            guesses = scores[validation].argmax(dim=1)
            accuracy = (guesses == labels[validation]).float().mean().item()
        seconds = time.perf_counter() - start
        # Linux counts in kibibytes.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return {"seconds": seconds, "loss": loss.item(), "validation_accuracy": accuracy, "peak_memory": peak}

    def set_training(self, training: bool) -> None:
        if self.module is not None:
            self.module.train(training)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", type=Path)
    parser.add_argument("--variant", choices=VARIANTS, required=True)
    parser.add_argument("--threads", type=int, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    peer = Peer(Workload.read(arguments.workload, arguments.variant != "csr"), arguments.variant)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps(peer.epoch()), flush=True)


if __name__ == "__main__":
    main()
