"""Programs over chunked arrays beside Dask's own: `python -m benchmarks.chunked`, seconds, on two local workers.

Needs the extra `dask` and `distributed`.  The operands lie in the workers' memory; results are summed there, so that
they do not travel.  Ours and Dask's take turns; the least of each counts.  Goals are ratios to Dask's time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
import opgen_runtime.dask as D
from distributed import Client, LocalCluster, wait

from opgen_runtime import ops


@dataclass(frozen=True)
class Row:
    """A program, ours and as Dask's functions say it; `goal`: how many times as fast ours is to be, 0 without."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    operands: tuple[Any, ...]
    goal: float = 0


def chain(x: Any) -> Any:
    return ops.tanh(x * 2.0 + 1.0) * ops.sigmoid(x) + ops.exp(x * -0.5) - ops.sqrt(ops.abs(x) + 1.0)


def dask_chain(x: Any) -> Any:
    one, two, half = np.float32(1), np.float32(2), np.float32(-0.5)
    return da.tanh(x * two + one) * (one / (one + da.exp(-x))) + da.exp(x * half) - da.sqrt(abs(x) + one)


def dask_softmax(x: Any) -> Any:
    e = da.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def dask_layer_norm(x: Any) -> Any:
    mean = x.mean(axis=1, keepdims=True)
    centred = x - mean
    return centred / da.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-5))


def smooth(x: Any, w: Any) -> Any:
    for _ in range(3):
        x = ops.tanh(ops.conv2d(x, w, padding=(1, 1)))
    return x


def dask_smooth(x: Any, w: Any) -> Any:
    """As a user writes it: a halo of three rows, and numpy's sums of shifted arrays in each chunk."""
    kernel = np.asarray(w)[0, 0]

    def block(part: np.ndarray) -> np.ndarray:
        for _ in range(3):
            padded = np.pad(part, ((0, 0), (0, 0), (1, 1), (1, 1)))
            n, m = part.shape[2:]
            total = np.zeros_like(part)
            for i in range(3):
                for j in range(3):
                    total += kernel[i, j] * padded[:, :, i : i + n, j : j + m]
            part = np.tanh(total)
        return part

    return x.map_overlap(block, depth={2: 3, 3: 3}, boundary=0, dtype=x.dtype)


def rows(mebibytes: int) -> Iterator[Row]:
    """The programs, over operands of about that size."""
    count = mebibytes * 2**18
    x = (
        da.random.default_rng(0)
        .random((count // 64, 64), chunks=(count // 64 // 20, 64), dtype="float32")
        .persist()
    )
    wide = (
        da.random.default_rng(1)
        .random((count // 4096, 4096), chunks=(count // 4096 // 8, 1024), dtype="float32")
        .persist()
    )
    side = int(count**0.5)
    image = (
        da.random.default_rng(2)
        .random((1, 1, side, side), chunks=(1, 1, side // 5, side // 2), dtype="float32")
        .persist()
    )
    square = da.random.default_rng(3).random((2048, 2048), chunks=(512, 512), dtype="float32").persist()
    wait([x, wide, image, square])
    weight = np.random.default_rng(4).random((1, 1, 3, 3), dtype="float32")
    gamma, beta = np.ones(4096, "float32"), np.zeros(4096, "float32")
    yield Row("chain", chain, dask_chain, (x,), 3.0)
    yield Row("chain and its sum", lambda x: ops.sum(chain(x)), lambda x: dask_chain(x).sum(), (x,), 3.0)
    yield Row("softmax, rows in one chunk", lambda x: ops.softmax(x, axis=1), dask_softmax, (x,), 1.3)
    yield Row("softmax, rows in four chunks", lambda x: ops.softmax(x, axis=1), dask_softmax, (wide,), 1.3)
    yield Row(
        "layer_norm, rows in four chunks",
        lambda x: ops.layer_norm(x, gamma, beta),
        dask_layer_norm,
        (wide,),
        1.3,
    )
    yield Row("three conv2d", smooth, dask_smooth, (image, weight), 1.3)
    yield Row("sum", ops.sum, lambda x: x.sum(), (x,), 0.95)
    yield Row("mean of columns", lambda x: ops.mean(x, axis=(0,)), lambda x: x.mean(axis=0), (x,), 0.95)
    yield Row("product 2048", ops.matmul, lambda a, b: a @ b, (square, square))


def measured(row: Row, rounds: int) -> tuple[float, float, int, int]:
    """The least seconds of ours and of Dask's, and the tasks of each.  Raises AssertionError for unequal results."""
    ours, theirs = D.chunked(row.ours)(*row.operands), row.theirs(*row.operands)
    sums = [each.sum() if each.ndim else each for each in (ours, theirs)]
    times: list[list[float]] = [[], []]
    found: list[Any] = [None, None]
    for _ in range(rounds):
        for k, each in enumerate(sums):
            begun = time.perf_counter()
            found[k] = each.compute()
            times[k].append(time.perf_counter() - begun)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1.0)
    own, other = [len(dict(each.__dask_graph__())) for each in sums]
    return min(times[0]), min(times[1]), own, other


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.chunked", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--mebibytes", type=int, default=256, help="the size of an operand")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose names hold this text")
    options = parser.parse_args()
    is_behind = False
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="4GB", dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        print(f"{'':32} {'ours':>8} {'Dask':>8}  ratio  goal   tasks, of Dask's")
        for row in rows(options.mebibytes):
            if options.only not in row.name:
                continue
            ours, theirs, own, other = measured(row, options.rounds)
            ratio = theirs / ours
            goal = f"{row.goal:5.2f}" if row.goal else "     "
            mark = "" if ratio >= row.goal else "  behind"
            is_behind |= ratio < row.goal
            print(
                f"{row.name:32} {ours:8.3f} {theirs:8.3f}  {ratio:5.2f} {goal}   {own:5} {other:5}{mark}",
                flush=True,
            )
    return int(is_behind)


if __name__ == "__main__":
    sys.exit(main())
