"""Fourier transforms beside numpy on one thread: `python -m benchmarks.breadth_fourier [DTYPE ...]`.

Each row runs under `rt.jit`, on real and imaginary parts, and in numpy, on complex numbers, in one process, in turn;
the ratio is numpy's least time over ours (above 1 is ahead).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from opgen_runtime.target import Target

import opgen_runtime as rt
from opgen_runtime import ops

DTYPES = ("float32", "float64")
SECONDS = 1.0  # a row is timed for about so long
ROWS = (((256, 1024), (1,)), ((64, 1000), (1,)), ((64, 1009), (1,)), ((512, 512), (0, 1)))
"""Shapes, and the axes of each that are transformed."""


def measured(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> tuple[float, float]:
    """The least seconds of a call, ours and numpy's.  Raises AssertionError where results differ."""
    re, im = np.random.default_rng(0).standard_normal((2, *shape)).astype(dtype)
    both = (re + 1j * im).astype(np.result_type(dtype, np.complex64))

    def transformed(re: Any, im: Any) -> Any:
        for axis in axes:
            re, im = ops.dft(re, im, axis=axis)
        return re, im

    compiled = rt.jit(transformed, target=replace(Target.host(), num_threads=1))
    found, expected = compiled(re, im), np.fft.fftn(both, axes=axes)
    apart = np.linalg.norm(found[0] + 1j * found[1] - expected) / np.linalg.norm(expected)
    assert apart < 10 * np.finfo(dtype).eps, f"{shape} {dtype}: {apart} apart"
    best = [math.inf, math.inf]
    runs: tuple[Callable[[], Any], ...] = (
        lambda: compiled(re, im),
        lambda: np.fft.fftn(both, axes=axes),
    )
    end, rounds = time.perf_counter() + SECONDS, 0
    while rounds < 3 or time.perf_counter() < end:
        for k, run in enumerate(runs):
            start = time.perf_counter()
            run()
            best[k] = min(best[k], time.perf_counter() - start)
        rounds += 1
    return best[0], best[1]


def main() -> None:
    """Measures all rows in the dtypes that are given, in all by default."""
    ratios = []
    for dtype in sys.argv[1:] or DTYPES:
        for shape, axes in ROWS:
            ours, numpy = measured(shape, axes, dtype)
            ratios.append(numpy / ours)
            row = f"{' x '.join(map(str, shape))}, axes {', '.join(map(str, axes))}"
            times = f"{ours * 1e3:8.3f} ms {numpy * 1e3:8.3f} ms {ratios[-1]:6.2f}"
            print(f"{dtype} {row:22} {times}", flush=True)
    print(f"geometric mean {math.prod(ratios) ** (1 / len(ratios)):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
