"""A product in loop IR that was written by hand, beside the library's: `python -m benchmarks.loops`.

Tiles of 6 rows and two vectors of columns, whose sums stay in registers; the second operand is packed into panels of
two vectors before.  Both run on one thread, in turn; the ratio is that of their least times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from opgen_runtime.target import Target

import opgen_runtime as rt
from opgen_runtime import tir

N = 384  # rows, columns and steps
ROWS, WIDTH = 6, 16


@tir.kernel(f"(a: float32[{N}, {N}], b: float32[{N}, {N}]) -> (c: float32[{N}, {N}])")
def product(a, b, c):  # type: ignore[no-untyped-def]  # it is read, and takes no arrays
    panels = tir.allocate((N // WIDTH, N, WIDTH), "float32", "global")
    for panel in range(N // WIDTH):
        for k in range(N):
            for j in tir.vectorized(WIDTH):
                panels[panel, k, j] = b[k, panel * WIDTH + j]
    for tile in range(N // ROWS):
        for panel in range(N // WIDTH):
            sums = tir.allocate((ROWS, WIDTH), "float32")
            for i in tir.unrolled(ROWS):
                for j in tir.vectorized(WIDTH):
                    sums[i, j] = 0.0
            for k in range(N):
                for i in tir.unrolled(ROWS):
                    for j in tir.vectorized(WIDTH):
                        sums[i, j] += a[tile * ROWS + i, k] * panels[panel, k, j]
            for i in tir.unrolled(ROWS):
                for j in tir.vectorized(WIDTH):
                    c[tile * ROWS + i, panel * WIDTH + j] = sums[i, j]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loops", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    target = replace(Target.host(), num_threads=1)
    rng = np.random.default_rng(0)
    a, b = (rng.random((N, N), dtype=np.float32) for _ in range(2))
    type_ = rt.TensorType((N, N), "float32")
    x, y = rt.var("x", type_), rt.var("y", type_)
    library = rt.build(rt.Function([x, y], rt.ops.matmul(x, y)), target=target)
    by_hand = rt.build(product, target=target)
    np.testing.assert_allclose(by_hand(a, b), a @ b, rtol=1e-4)
    np.testing.assert_allclose(library.run([a, b]), a @ b, rtol=1e-4)
    times = {"library": [], "by hand": []}  # type: dict[str, list[float]]
    for _ in range(rounds):
        times["library"].append(_seconds(lambda: library.run([a, b])))
        times["by hand"].append(_seconds(lambda: by_hand(a, b)))
    best = {name: min(each) for name, each in times.items()}
    for name, seconds in best.items():
        print(f"{name:8} {seconds * 1e3:7.3f} ms  {2 * N**3 / seconds / 1e9:6.1f} GFLOP/s")
    print(f"by hand, of the library's speed: {best['library'] / best['by hand']:.0%}")


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
