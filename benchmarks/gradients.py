"""How much longer than the op its gradients take: python benchmarks/gradients.py [NAME ...]

For each row the time of the op, of the pulled gradients for all its operands, the quotient, and the limit that is
meant; the bytes that the gradients take at a time with their results; beside it the same of torch where that is
installed.  Times are of the processor, the least of a few, ours and theirs in turn; OPGEN_NUM_THREADS=1 for one thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ops

RUNS: Final = 11


@dataclass(frozen=True)
class Row:
    """A function of arrays of some shapes, what torch calls it, and the most that its gradients may take."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    limit: float
    torch: Callable[[Any], Callable[..., Any]]


def conv(**attrs: Any) -> Callable[..., Any]:
    return lambda x, w: ops.conv2d(x, w, **attrs)


def torch_conv(**attrs: Any) -> Callable[[Any], Callable[..., Any]]:
    return lambda t: lambda x, w: t.nn.functional.conv2d(x, w, **attrs)


def convolved_transposed(**attrs: Any) -> Callable[..., Any]:
    return lambda x, w: ops.conv2d_transpose(x, w, **attrs)


def product(m: int, k: int, n: int, *batch: int) -> Row:
    name = "x".join(map(str, (*batch, m, k, n)))
    return Row(
        f"mm_{name}", lambda a, b: a @ b, ((*batch, m, k), (*batch, k, n)), 2.2, lambda t: lambda a, b: a @ b
    )


def greatest(size: int, kernel: int, stride: int, padding: int) -> Row:
    both = {"pool_size": (kernel, kernel), "strides": (stride, stride), "padding": (padding, padding)}
    return Row(
        f"max_pool_{kernel}s{stride}p{padding}", lambda x: ops.max_pool2d(x, **both), ((4, 32, size, size),), 4.0,
        lambda t: lambda x: t.nn.functional.max_pool2d(x, kernel, stride, padding),
    )  # fmt: skip


def attention(q: Any, k: Any, v: Any) -> Any:
    return ops.softmax(q @ np.swapaxes(k, -1, -2) * 0.125) @ v


ROWS: Final = (
    Row("gelu", lambda x: 0.5 * x * (1.0 + np.tanh(0.79788456 * (x + 0.044715 * x * x * x))), ((256, 1024),), 2.5,
        lambda t: lambda x: t.nn.functional.gelu(x, approximate="tanh")),
    Row("softmax", lambda x: ops.softmax(x), ((256, 1024),), 2.5, lambda t: lambda x: t.softmax(x, -1)),
    Row("layer_norm", lambda x, g, b: ops.layer_norm(x, g, b), ((256, 1024), (1024,), (1024,)), 4.0,
        lambda t: lambda x, g, b: t.nn.functional.layer_norm(x, (1024,), g, b)),
    Row("matmul", lambda a, b: a @ b, ((256, 256), (256, 256)), 2.2, lambda t: lambda a, b: a @ b),
    Row("conv2d", lambda x, w: ops.conv2d(x, w, padding=(1, 1)), ((4, 32, 28, 28), (32, 32, 3, 3)), 3.0,
        lambda t: lambda x, w: t.nn.functional.conv2d(x, w, padding=1)),
    Row("attention", attention, ((8, 128, 64), (8, 128, 64), (8, 128, 64)), 3.5,
        lambda t: lambda q, k, v: t.softmax(q @ k.mT * 0.125, -1) @ v),
    Row("reshape", lambda x: ops.reshape(x, newshape=(1024, 256)), ((256, 1024),), 1.2,
        lambda t: lambda x: x.reshape(1024, 256).contiguous()),
    Row("max_pool2d", lambda x: ops.max_pool2d(x, pool_size=(2, 2), strides=(2, 2)), ((4, 32, 56, 56),), 4.0,
        lambda t: lambda x: t.nn.functional.max_pool2d(x, 2)),
    product(64, 64, 64), product(128, 128, 128), product(512, 512, 512), product(1024, 64, 64),
    product(64, 1024, 64), product(64, 64, 1024), product(1000, 300, 50), product(128, 64, 128, 16),
    Row("conv_1x1", conv(), ((4, 64, 28, 28), (64, 64, 1, 1)), 3.0, torch_conv()),
    Row("conv_stride", conv(padding=(1, 1), strides=(2, 2)), ((4, 32, 28, 28), (64, 32, 3, 3)), 3.0,
        torch_conv(padding=1, stride=2)),
    Row("conv_1x1_s2", conv(strides=(2, 2)), ((4, 64, 28, 28), (64, 64, 1, 1)), 3.0, torch_conv(stride=2)),
    Row("depthwise", conv(padding=(1, 1), groups=32), ((4, 32, 28, 28), (32, 1, 3, 3)), 3.0,
        torch_conv(padding=1, groups=32)),
    Row("depthwise_s2", conv(padding=(1, 1), strides=(2, 2), groups=32), ((4, 32, 28, 28), (32, 1, 3, 3)), 3.0,
        torch_conv(padding=1, stride=2, groups=32)),
    Row("conv_groups", conv(padding=(1, 1), groups=4), ((4, 32, 28, 28), (32, 8, 3, 3)), 3.0,
        torch_conv(padding=1, groups=4)),
    Row("conv_transpose", convolved_transposed(padding=(1, 1), strides=(2, 2)), ((4, 32, 14, 14), (32, 32, 4, 4)), 3.0,
        lambda t: lambda x, w: t.nn.functional.conv_transpose2d(x, w, padding=1, stride=2)),
    greatest(57, 3, 2, 0), greatest(56, 3, 2, 1), greatest(28, 3, 1, 1), greatest(28, 2, 1, 0),
    Row("avg_pool_3s2", lambda x: ops.avg_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1)),
        ((4, 32, 56, 56),), 4.0,
        lambda t: lambda x: t.nn.functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False)),
)  # fmt: skip


def least(runs: Sequence[Callable[[], object]]) -> list[float]:
    """The least time of one call of each, one after the other in each round."""
    found: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run()
    for _ in range(RUNS):
        for run, times in zip(runs, found, strict=True):
            begin, count = time.process_time(), 0
            while time.process_time() - begin < 0.02:
                run()
                count += 1
            times.append((time.process_time() - begin) / count)
    return [min(times) for times in found]


def ours(row: Row, arrays: Sequence[np.ndarray]) -> tuple[list[Callable[[], object]], int]:
    """The op and its gradients, and the bytes that these take."""
    forward = rt.jit(row.function)
    cotangent = np.ones_like(forward(*arrays))

    def pulled(*given: Any) -> Any:
        return rt.vjp(row.function, *given[:-1])[1](given[-1])

    backward = rt.jit(pulled)
    plan = rt.build(backward.trace(*arrays, cotangent)).plan
    memory = sum([array.nbytes for array in arrays]) if plan is None else plan.memory
    return [lambda: forward(*arrays), lambda: backward(*arrays, cotangent)], memory


def theirs(row: Row, arrays: Sequence[np.ndarray]) -> list[Callable[[], object]]:
    """The same by torch, nothing where it is not installed."""
    try:
        import torch
    except ImportError:
        return []
    torch.set_num_threads(1)
    function = row.torch(torch)
    given = [torch.from_numpy(array).requires_grad_() for array in arrays]
    cotangent = torch.ones_like(function(*given))
    plain = [each.detach() for each in given]
    return [lambda: function(*plain), lambda: torch.autograd.grad(function(*given), given, cotangent)]


def main(names: Sequence[str]) -> None:
    print(
        f"{'':16}{'op':>10}{'gradients':>12}{'quotient':>10}{'limit':>8}{'KiB':>8}   torch: op, gradients, quotient"
    )
    for row in ROWS:
        if names and row.name not in names:
            continue
        random = np.random.default_rng(0)
        arrays = [random.normal(size=shape).astype("float32") for shape in row.shapes]
        runs, memory = ours(row, arrays)
        forward, backward, *other = least([*runs, *theirs(row, arrays)])
        line = f"{row.name:16}{1e6 * forward:8.0f}us{1e6 * backward:10.0f}us{backward / forward:10.2f}"
        line += f"{row.limit:8.1f}{memory / 1024:8.0f}"
        if other:
            line += f"   {1e6 * other[0]:.0f}us {1e6 * other[1]:.0f}us {other[1] / other[0]:.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
