"""Programs of open dims do about the work of those compiled for each size, whichever of their dims are open.

Counted in stores of the loop IR, so that a region that becomes the whole tensor, computed in each step, fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.ir import IRModule
from opgen_runtime.run.compile.pipeline import optimise
from opgen_runtime.run.compile.segments import segments_of
from tests.work import kernels_of, total

TARGET: Final = "llvm -num-threads=1 -mcpu=x86-64-v3"
MOST: Final = 2.5  # times the work; one of few elements in the last tiles is that
Make = Callable[[ir.Expr], ir.Expr]


def weight(*shape: int) -> ir.Expr:
    random = np.random.default_rng(0)
    return ir.const(random.standard_normal(shape).astype(np.float32) / 8)


IMAGE: Final = ((2, 32, 24, 40), (1, 32, 19, 61))
CASES: Final[Mapping[str, tuple[Sequence[tuple[int, ...]], tuple[int, ...], Make]]] = {
    "conv 1x1": (IMAGE, (0, 2, 3), lambda x: ops.conv2d(x, weight(32, 32, 1, 1))),
    "conv 3x3": (IMAGE, (0, 2, 3), lambda x: ops.conv2d(x, weight(32, 32, 3, 3), padding=(1, 1))),
    "conv 3x3 in steps": (
        IMAGE,
        (0, 2, 3),
        lambda x: ops.conv2d(x, weight(32, 32, 3, 3), padding=(1, 1), strides=(2, 2)),
    ),
    "dilated conv": (
        IMAGE,
        (0, 2, 3),
        lambda x: ops.conv2d(x, weight(32, 32, 3, 3), padding=(2, 2), dilation=(2, 2)),
    ),
    "conv in groups": (
        IMAGE,
        (0, 2, 3),
        lambda x: ops.conv2d(x, weight(32, 8, 3, 3), padding=(1, 1), groups=4),
    ),
    "depthwise conv": (
        IMAGE,
        (0, 2, 3),
        lambda x: ops.conv2d(x, weight(32, 1, 5, 5), padding=(2, 2), groups=32),
    ),
    "depthwise conv in steps": (
        IMAGE,
        (0, 2, 3),
        lambda x: ops.conv2d(x, weight(32, 1, 5, 5), padding=(2, 2), strides=(2, 2), groups=32),
    ),
    "transposed conv": (
        IMAGE,
        (0, 2, 3),
        lambda x: ops.conv2d_transpose(x, weight(32, 16, 2, 2), strides=(2, 2)),
    ),
    "conv of a line": (
        ((2, 32, 200), (3, 32, 61)),
        (0, 2),
        lambda x: ops.conv1d(x, weight(32, 32, 3), padding=(1,)),
    ),
    "conv of a volume": (
        ((1, 8, 6, 24, 24),),
        (0, 2, 3, 4),
        lambda x: ops.conv3d(x, weight(16, 8, 3, 3, 3), padding=(1, 1, 1)),
    ),
    "max pool": (
        IMAGE,
        (0, 2, 3),
        lambda x: ops.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1)),
    ),
    "average pool": (IMAGE, (0, 2, 3), lambda x: ops.avg_pool2d(x, pool_size=(2, 2), strides=(2, 2))),
    "joined channels": (IMAGE, (0, 2, 3), lambda x: ops.concatenate((x, ops.relu(x)), axis=1)),
    "joined columns": (IMAGE, (0, 2, 3), lambda x: ops.concatenate((x, ops.relu(x)), axis=3)),
    "scale and shift": (
        IMAGE,
        (0, 2, 3),
        lambda x: ops.relu(ops.add(ops.multiply(x, weight(32, 1, 1)), weight(32, 1, 1))),
    ),
    "softmax": (((2, 4, 24, 40),), (0, 2, 3), lambda x: ops.softmax(x)),
    "attention": (
        ((2, 40, 32), (1, 77, 32)),
        (0, 1),
        lambda x: ops.batch_matmul(
            ops.softmax(ops.batch_matmul(x, x, transpose_b=True)), x, transpose_b=False
        ),
    ),
    "instance norm": (IMAGE, (0, 2, 3), lambda x: ops.instance_norm(x, weight(32), weight(32))),
}


def work(make: Make, dims: Sequence[object], sizes: Mapping[str, int]) -> int:
    """The stores of a program over an input of these dims."""
    x = ir.Var("x", rt.TensorType(tuple(dims), "float32"))
    module = optimise(IRModule.from_expr(ir.Function((x,), make(x))))
    segments = segments_of(*module.functions.values()).functions
    return sum(total(kernels_of(segment, TARGET), sizes) for segment in segments)


@pytest.mark.parametrize("name", CASES)
def test_open_dims_take_about_the_work_of_static_ones(name: str) -> None:
    shapes, open_axes, make = CASES[name]
    static = [work(make, shape, {}) for shape in shapes]
    subsets = [s for count in range(1, len(open_axes) + 1) for s in itertools.combinations(open_axes, count)]
    for subset in subsets if name.startswith(("conv 3x3", "joined")) else (subsets[-1], open_axes[-1:]):
        rest = shapes if len(subset) == len(open_axes) else shapes[:1]
        dims = [rt.dim(f"d{n}") if n in subset else extent for n, extent in enumerate(shapes[0])]
        for shape, least in zip(rest, static, strict=False):
            found = work(make, dims, {f"d{n}": extent for n, extent in enumerate(shape)})
            assert found <= MOST * least, f"dims {subset} open, shape {shape}: {found} stores, not {least}"
