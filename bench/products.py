#!/usr/bin/env python3
"""How fast PyTorch's dense products are on two threads, beside `cargo bench -p abyssal-tensor -- dense`.

    bench/.venv/bin/python bench/products.py

Products of 19,717 rows (Pubmed's) at widths 64, 128 and 256, plain and transposed, in billion operations a second, the best of sixty.
"""

import time
from collections.abc import Callable

import torch

ROWS, REPETITIONS = 19_717, 60


def best_seconds(operation: Callable[[], object]) -> float:
    for _ in range(5):
        operation()
    seconds = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        operation()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    torch.set_num_threads(2)
    for width in (64, 128, 256):
        left, right, weight = torch.randn(ROWS, width), torch.randn(ROWS, width), torch.randn(width, width)
        tall, small = torch.empty(ROWS, width), torch.empty(width, width)
        operations = 2 * ROWS * width**2 / 1e9
        plain = operations / best_seconds(lambda: torch.mm(left, weight, out=tall))
        transposed = operations / best_seconds(lambda: torch.mm(left.t(), right, out=small))
        print(f"width {width}: {plain:.0f} plain, {transposed:.0f} transposed")


if __name__ == "__main__":
    main()
