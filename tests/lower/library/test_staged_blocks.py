"""Windows of many channels that do not stay near: a block of channels is covered, and added to all results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opgen_runtime import ir, ops, te
from opgen_runtime.base.arith import Expr, logical_and, select
from opgen_runtime.base.target import Target
from opgen_runtime.compute.te import construct as constructing
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.schedule import Schedule
from opgen_runtime.lower.tir.lowering.bound import infer_bound
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline
from tests.lower.library.test_row_strips import convolved, target


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("data", "weight", "pads", "groups"),
    [
        ((1, 401, 41, 40), (16, 401, 3, 3), (1, 1, 1, 1), 1),  # a prime: the last block is shorter
        ((2, 512, 38, 38), (20, 512, 2, 2), (0, 1, 1, 0), 1),
        ((1, 480, 50, 50), (48, 240, 3, 3), (1, 1, 1, 1), 2),
    ],
)
def test_beside_numpy(
    data: tuple[int, ...],
    weight: tuple[int, ...],
    pads: tuple[int, int, int, int],
    groups: int,
    threads: int,
) -> None:
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(shape).astype("float32") for shape in (data, weight))
    expected = convolved(x, w, pads, groups)[:, :, ::2, ::2]
    residual = random.standard_normal(expected.shape).astype("float32")
    variables = [
        ir.Var(name, TensorType(each.shape, "float32"))
        for name, each in (("x", x), ("w", w), ("r", residual))
    ]
    made = ops.conv2d(*variables[:2], strides=(2, 2), padding=pads, groups=groups)
    function = ir.Function(variables, ops.relu(ops.add(made, variables[2])), attrs={"Primitive": 1})
    parts = pipeline.compile_parts(function, {1}, target(threads))
    inputs = [x, w, residual] if parts.precompute is None else [x, residual, *parts.precompute.run([w])]
    (found,) = parts.main.run(inputs)
    expected = np.maximum(expected + residual, 0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def convolution(channels: int, side: int, filters: int) -> Schedule:
    """The schedule of 3x3 windows that lie side by side."""
    x = te.placeholder((1, channels, side, side), name="X")
    w = constructing.placeholder("W", (filters, channels, 3, 3), "float32", True)
    c, r, s = (te.reduce_axis((0, n), name=name) for n, name in ((channels, "c"), (3, "r"), (3, "s")))

    def padded(n: Any, c: Any, i: Any, j: Any) -> Expr:
        inside = logical_and(logical_and(i >= 1, i < side + 1), logical_and(j >= 1, j < side + 1))
        return select(inside, x[n, c, i - 1, j - 1], 0.0)

    made = te.compute(
        (1, filters, (side + 2) // 3, (side + 2) // 3),
        lambda n, o, i, j: te.sum(padded(n, c, i * 3 + r, j * 3 + s) * w[o, c, r, s], axis=[c, r, s]),
        name="C",
    )
    return generic([made], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))


@pytest.mark.parametrize(
    ("channels", "side", "filters", "block"),
    [
        (1600, 49, 32, 32),
        (1376, 100, 16, 8),
        (128, 49, 32, None),  # all of it is near
        (64, 600, 16, None),  # not even the windows of few channels are
    ],
)
def test_how_much_is_covered_at_once(channels: int, side: int, filters: int, block: int | None) -> None:
    schedule = convolution(channels, side, filters)
    domains = infer_bound(schedule)
    covered = next(stage for stage in schedule.stages if stage.origin.startswith("stage_operand"))
    assert domains[covered].shape[0] == (channels if block is None else block)
    if block is not None:
        assert covered.attach is not None
        assert covered.attach.axis in covered.attach.stage.leaves[:1], "the first loop is that over blocks"
