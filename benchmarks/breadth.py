"""What is called every day, beside numpy: `python -m benchmarks.breadth [ROW ...] [--threads N]`.

Each row runs under `rt.jit` and in numpy in one process, in turn; the ratio is numpy's least time over ours (above 1 is
ahead).  Without `--threads` the rows run in a process for one thread, then in one for two.  A new row is a `Row` of
`ROWS`: its operands are made from a seed, and its results are compared before it is timed.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from opgen_runtime.target import Target

import opgen_runtime as rt
from opgen_runtime import ops

Generator = np.random.Generator
SECONDS = 1.0  # a row is timed for about so long in each of both


@dataclass(frozen=True)
class Row:
    """A computation, ours and numpy's, and its operands; `rtol`: how near results are, absolutely too."""

    name: str
    operands: Callable[[Generator], Sequence[np.ndarray]]
    ours: Callable[..., Any]
    numpy: Callable[..., Any]
    rtol: float = 1e-5


def normal(*shape: int) -> Callable[[Generator], Sequence[np.ndarray]]:
    """One float32 operand of normal numbers."""
    return lambda rng: [rng.standard_normal(shape, dtype=np.float32)]


def probabilities(*shape: int) -> Callable[[Generator], Sequence[np.ndarray]]:
    """One float32 operand whose rows are softmaxes of normal numbers."""

    def made(rng: Generator) -> Sequence[np.ndarray]:
        x = np.exp(3 * rng.standard_normal(shape, dtype=np.float32))
        return [x / x.sum(axis=-1, keepdims=True)]

    return made


def _nucleus(x: np.ndarray) -> np.ndarray:
    """The fewest greatest elements of each row whose sum reaches 0.9, as numpy finds them."""
    ordered = np.sort(x, axis=-1)[:, ::-1]
    before = np.sum(np.cumsum(ordered, axis=-1) < np.float32(0.9), axis=-1, keepdims=True)
    return x >= np.take_along_axis(ordered, np.minimum(before, x.shape[-1] - 1), -1)


def _greatest(x: np.ndarray, k: int) -> np.ndarray:
    """The k greatest of each row, the greatest first, as numpy finds them."""
    found = np.take_along_axis(x, np.argpartition(x, -k, axis=1)[:, -k:], axis=1)
    return -np.sort(-found, axis=1)


ROWS: tuple[Row, ...] = (
    Row("sort 1e6", normal(1_000_000), lambda x: ops.sort(x), np.sort),
    Row("sort rows of 1000", normal(1000, 1000), lambda x: ops.sort(x), np.sort),
    Row(
        "argsort rows of 1000",
        normal(1000, 1000),
        lambda x: ops.argsort(x, dtype="int64"),
        lambda x: np.argsort(x, axis=1, kind="stable"),
    ),
    Row(
        "topk 10 of 50000",
        normal(1, 50_000),
        lambda x: ops.topk(x, k=10)[0],
        lambda x: _greatest(x, 10),
    ),
    Row(
        "topk 500 of 50000",
        normal(1, 50_000),
        lambda x: ops.topk(x, k=500)[0],
        lambda x: _greatest(x, 500),
    ),
    Row("sort rows of 100", normal(10_000, 100), lambda x: ops.sort(x), np.sort),
    Row(
        "quantile rows of 1000",
        normal(1000, 1000),
        lambda x: ops.quantile(x, q=(0.25, 0.5, 0.9)),
        lambda x: np.quantile(x, np.float32([0.25, 0.5, 0.9]), axis=1),
    ),
    Row("median rows of 1000", normal(1000, 1000), lambda x: ops.median(x), lambda x: np.median(x, axis=1)),
    Row("cumsum 1e7", lambda rng: [rng.standard_normal(10_000_000)], lambda x: ops.cumsum(x), np.cumsum),
    Row("top_p_mask 64 x 50000", probabilities(64, 50_000), lambda x: ops.top_p_mask(x, p=0.9), _nucleus),
)


def measured(row: Row, threads: int) -> tuple[float, float]:
    """The least seconds of a call, ours and numpy's, in turn.  Raises AssertionError for other results."""
    operands = row.operands(np.random.default_rng(0))
    compiled = rt.jit(row.ours, target=replace(Target.host(), num_threads=threads))
    np.testing.assert_allclose(compiled(*operands), row.numpy(*operands), rtol=row.rtol, atol=row.rtol)
    best = [math.inf, math.inf]
    end = time.perf_counter() + 2 * SECONDS
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        for k, run in enumerate((compiled, row.numpy)):
            start = time.perf_counter()
            run(*operands)
            best[k] = min(best[k], time.perf_counter() - start)
        rounds += 1
    return best[0], best[1]


def main() -> None:
    """Measures the rows that are named, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.breadth", description=__doc__)
    parser.add_argument("rows", nargs="*", help="parts of names of rows")
    parser.add_argument("--threads", type=int, help="in this process, on so many threads")
    args = parser.parse_args()
    if args.threads is None:
        for count in (1, 2):
            _in_process(args.rows, count)
        return
    chosen = [row for row in ROWS if not args.rows or any(part in row.name for part in args.rows)]
    ratios = []
    print(f"{args.threads} thread{'s' * (args.threads > 1)}: {'ours':>38} {'numpy':>10} {'ratio':>7}")
    for row in chosen:
        ours, numpy = measured(row, args.threads)
        ratios.append(numpy / ours)
        print(f"  {row.name:34} {ours * 1e3:9.3f} ms {numpy * 1e3:8.3f} ms {numpy / ours:6.2f}", flush=True)
    if ratios:
        print(
            f"  geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, least {min(ratios):.2f}"
        )


def _in_process(rows: Sequence[str], threads: int) -> None:
    """The rows in a process of their own, whose numpy has so many threads."""
    count = str(threads)
    command = [sys.executable, "-m", "benchmarks.breadth", *rows, "--threads", count]
    subprocess.run(command, check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": count})


if __name__ == "__main__":
    main()
