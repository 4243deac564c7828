"""Convolutions of 3x3 filters as they are by default, and with Winograd allowed: milliseconds, and errors.

    python -m benchmarks.winograd [--repeats 9] [--tile 4]

The layers are those of ResNet-50, of one image and of eight.  The second times are with an allowance, off by
default: `PassContext(required=["Winograd"])`.  One thread; each figure is the least of interleaved repeats, by
processor time.  Errors are the greatest beside float64, over the greatest result; images and filters are normally
distributed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.transform import PassContext

TARGET = "llvm -num-threads=1"
LAYERS = ((64, 56), (128, 28), (256, 14), (512, 7))  # channels and filters, height and width
BATCHES = (1, 8)
BLOCK = 0.02  # seconds


def least(run: Callable[[], object]) -> float:
    """The least processor time of a run, in milliseconds."""
    best, until = float("inf"), time.process_time() + BLOCK
    while time.process_time() < until:
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best * 1e3


def layer(batch: int, channels: int, size: int, context: PassContext, repeats: int) -> str:
    """One line: the times of both, and the errors."""
    random = np.random.default_rng(0)
    data = random.standard_normal((batch, channels, size, size), dtype="float32")
    weight = random.standard_normal((channels, channels, 3, 3), dtype="float32")

    def built(dtype: str, under: PassContext) -> rt.Executable:
        x = ir.Var("x", rt.TensorType(data.shape, dtype))
        call = ops.conv2d(x, ir.Constant(weight.astype(dtype)), padding=(1, 1))
        return rt.build(ir.Function((x,), call), target=TARGET, context=under)

    wanted = np.asarray(built("float64", PassContext()).run([data.astype("float64")]))
    both = [built("float32", PassContext()), built("float32", context)]
    errors = [np.abs(np.asarray(each.run([data])) - wanted).max() / np.abs(wanted).max() for each in both]
    times = [float("inf")] * 2
    for _ in range(repeats):
        for n, each in enumerate(both):
            times[n] = min(times[n], least(lambda each=each: each.run([data])))  # type: ignore[misc]
    kind = "" if both[0].kernels != both[1].kernels else "  stays"
    figures = [f"{time:9.3f} {error:9.1e}" for time, error in zip(times, errors, strict=True)]
    shape = f"{batch} x {channels} x {size} x {size}"
    return f"{shape:18} {' '.join(figures)} {times[0] / times[1]:6.2f}{kind}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--tile", type=int, default=4)
    given = parser.parse_args()
    context = PassContext(required=["Winograd"], config={"Winograd.tile": given.tile})
    print(f"{'layer':18} {'default':>9} {'error':>9} {'Winograd':>9} {'error':>9}  times faster")
    for batch in BATCHES:
        for channels, size in LAYERS:
            print(layer(batch, channels, size, context, given.repeats), flush=True)


if __name__ == "__main__":
    main()
