"""Decompositions and linear systems beside numpy on one thread: `python -m benchmarks.breadth_linalg [EXTENT ...]`.

Each row runs under `rt.jit` and in numpy in one process, in turn; the ratio is numpy's least time over ours (above 1 is
ahead). Operands are float64, symmetric and positive definite.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is imported

import numpy as np
from opgen_runtime.target import Target

import opgen_runtime as rt

EXTENTS = (16, 128, 1024)
SECONDS = 1.0  # a row is timed for about so long
FUNCTIONS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("cholesky", np.linalg.cholesky),
    ("solve", lambda a: np.linalg.solve(a, a[:, :1])),
    ("qr", np.linalg.qr),
    ("inv", np.linalg.inv),
)


def measured(function: Callable[[Any], Any], extent: int) -> tuple[float, float]:
    """The least seconds of a call, ours and numpy's.  Raises AssertionError where results differ."""
    factor = np.random.default_rng(0).standard_normal((extent, extent))
    a = factor @ factor.T / extent + np.eye(extent)
    compiled = rt.jit(function, target=replace(Target.host(), num_threads=1))
    np.testing.assert_allclose(compiled(a), function(a), rtol=1e-8, atol=1e-8)
    best = [math.inf, math.inf]
    end, rounds = time.perf_counter() + SECONDS, 0
    while rounds < 3 or time.perf_counter() < end:
        for k, run in enumerate((compiled, function)):
            start = time.perf_counter()
            run(a)
            best[k] = min(best[k], time.perf_counter() - start)
        rounds += 1
    return best[0], best[1]


def main() -> None:
    """Measures all functions at the extents that are given, at all of them by default."""
    ratios = []
    for extent in [int(each) for each in sys.argv[1:]] or EXTENTS:
        for name, function in FUNCTIONS:
            ours, numpy = measured(function, extent)
            ratios.append(numpy / ours)
            print(
                f"{name:9} {extent:5} {ours * 1e6:10.1f} us {numpy * 1e6:10.1f} us {ratios[-1]:6.2f}",
                flush=True,
            )
    print(f"geometric mean {math.prod(ratios) ** (1 / len(ratios)):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
