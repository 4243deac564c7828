"""Fourier transforms beside numpy on one thread: `python -m benchmarks.breadth_fourier [DTYPE ...]`.

Each row is a function of `np.fft`, under `rt.jit` and in numpy, in one process, in turn; the ratio is numpy's least
time over ours (above 1 is ahead).
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
from opgen_runtime.target import Target

import opgen_runtime as rt

DTYPES = ("float32", "float64")
SECONDS = 1.0  # a row is timed for about so long
ROWS = (
    ("fftn", (256, 1024), (1,)),
    ("fftn", (64, 1000), (1,)),
    ("fftn", (64, 1009), (1,)),
    ("fftn", (512, 512), (0, 1)),
    ("rfftn", (256, 1024), (1,)),
    ("irfftn", (256, 513), (1,)),
)
"""Functions, shapes of their operands, and the axes that are transformed."""


def measured(name: str, shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> tuple[float, float]:
    """The least seconds of a call, ours and numpy's.  Raises AssertionError where results differ."""
    re, im = np.random.default_rng(0).standard_normal((2, *shape)).astype(dtype)
    given = re if name == "rfftn" else (re + 1j * im).astype(np.result_type(dtype, np.complex64))

    def transformed(x: Any) -> Any:
        return getattr(np.fft, name)(x, axes=axes)

    compiled = rt.jit(transformed, target=replace(Target.host(), num_threads=1))
    expected = transformed(given)
    apart = np.linalg.norm(compiled(given) - expected) / np.linalg.norm(expected)
    assert apart < 10 * np.finfo(dtype).eps, f"{name} {shape} {dtype}: {apart} apart"
    best = [math.inf, math.inf]
    end, rounds = time.perf_counter() + SECONDS, 0
    while rounds < 3 or time.perf_counter() < end:
        for k, run in enumerate((compiled, transformed)):
            start = time.perf_counter()
            run(given)
            best[k] = min(best[k], time.perf_counter() - start)
        rounds += 1
    return best[0], best[1]


def main() -> None:
    """Measures all rows in the dtypes that are given, in all by default."""
    ratios = []
    for dtype in sys.argv[1:] or DTYPES:
        for name, shape, axes in ROWS:
            ours, numpy = measured(name, shape, axes, dtype)
            ratios.append(numpy / ours)
            row = f"{name} {' x '.join(map(str, shape))}, axes {', '.join(map(str, axes))}"
            times = f"{ours * 1e3:8.3f} ms {numpy * 1e3:8.3f} ms {ratios[-1]:6.2f}"
            print(f"{dtype} {row:28} {times}", flush=True)
    print(f"geometric mean {math.prod(ratios) ** (1 / len(ratios)):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
