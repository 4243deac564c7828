"""Gradients of filters: recognised from what is read, right for every window, and vectors of planes as they lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime import ir, ops, te
from opgen_runtime.base.target import Target
from opgen_runtime.declaration.gradient import vjp_attrs, vjp_op
from opgen_runtime.ir import Call, Tuple
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.library.schedules.common.plan import inline_cheap
from opgen_runtime.lower.library.schedules.convolution.weight_gradient import match_correlation
from opgen_runtime.lower.library.segment import segment_of
from opgen_runtime.lower.schedule import Stage, create_schedule
from opgen_runtime.operator import Op
from opgen_runtime.run.compile import pipeline
from tests.lower.library.test_contractions import target, var

CPU = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")


def gradient_of_filters(data: ir.Var, weight: ir.Var, **attrs: object) -> ir.Function:
    """The derived op of a convolution for its filters, as a segment."""
    name = {3: "conv1d", 4: "conv2d", 5: "conv3d"}[len(data.checked_type.shape)]  # type: ignore[attr-defined]  # a tensor type
    forward = getattr(ops, name)(data, weight, **attrs)
    cotangent = ir.Var("cotangent", forward.checked_type)
    op = Op.get(name)
    given = vjp_attrs(op.get_attr("declaration"), forward.attrs, "weight")
    body = Call(vjp_op(op), (data, weight, Tuple(()), cotangent), given)
    return ir.Function((data, weight, cotangent), body, attrs={"Primitive": 1})


@st.composite
def convolutions(draw: st.DrawFn) -> ir.Function:
    """A convolution of few filters a group, of lines with and without tails."""
    rank, groups = draw(st.sampled_from([1, 2, 2, 2, 3])), draw(st.integers(1, 4))
    kernel = tuple(draw(st.integers(1, 5)) for _ in range(rank))
    dilation = tuple(draw(st.sampled_from([1, 1, 2])) for _ in range(rank))
    widest = [step * (extent - 1) + 1 for step, extent in zip(dilation, kernel, strict=True)]
    sizes = [extent + draw(st.integers(3, 40 if n == rank - 1 else 9)) for n, extent in enumerate(widest)]
    channels = draw(st.integers(1, 4))
    data = var("data", draw(st.integers(1, 2)), groups * channels, *sizes)
    weight = var("weight", groups * draw(st.integers(1, 9)), channels, *kernel)
    return gradient_of_filters(
        data,
        weight,
        strides=tuple(draw(st.integers(1, 3)) for _ in range(rank)),
        padding=tuple(draw(st.integers(0, 2)) for _ in range(2 * rank)),
        dilation=dilation,
        groups=groups,
    )


@given(convolutions(), st.sampled_from([1, 2]))
@settings(max_examples=10, deadline=None)
def test_gradients_of_filters(function: ir.Function, threads: int) -> None:
    random = np.random.default_rng(0)
    shapes = [each.checked_type.concrete_shape for each in function.params]  # type: ignore[attr-defined]  # a tensor type
    arrays = [random.standard_normal(shape).astype("float32") for shape in shapes]
    (found,) = pipeline.compile_segment(function, target(threads)).run(arrays)
    (expected,) = segment_of(function, CPU).evaluate(arrays)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5 * np.abs(expected).max())


def outputs_of(rows: int, channels: int, groups: int, kernel: int, **attrs: object) -> Sequence[te.Tensor]:
    data, weight = (
        var("data", 2, groups * channels, 28, 28),
        var("weight", groups * rows, channels, kernel, kernel),
    )
    return segment_of(gradient_of_filters(data, weight, groups=groups, **attrs), CPU).outputs


def test_a_padded_plane_is_read_once() -> None:
    schedule = generic(outputs_of(8, 4, 2, 3, padding=(1, 1)), CPU)
    staging = next(stage for stage in schedule.stages if stage.origin.startswith("stage_operand"))
    assert staging.tensor.shape == (2, 8, 30, 30)
    assert staging.attach is not None, "a plane at a time"


def _found(outputs: Sequence[te.Tensor]) -> set[Stage]:
    schedule = create_schedule(outputs)
    inline_cheap(schedule, CPU)
    found = [match_correlation(schedule, stage, CPU) for stage in schedule.stages if not stage.inlined]
    return {each for each in found if isinstance(each, Stage)}


@pytest.mark.parametrize(
    ("rows", "channels", "groups", "kernel", "wanted"),
    [(1, 1, 8, 3, True), (8, 8, 4, 3, True), (16, 3, 1, 3, True), (8, 8, 4, 1, True), (64, 8, 1, 3, False)],
)
def test_what_is_a_correlation(rows: int, channels: int, groups: int, kernel: int, wanted: bool) -> None:
    """Not where many rows share a window, which is worth packing."""
    assert bool(_found(outputs_of(rows, channels, groups, kernel))) == wanted


def test_products_of_matrices_and_convolutions_are_none() -> None:
    a, b = te.placeholder((16, 64), name="a"), te.placeholder((20, 64), name="b")
    k = te.reduce_axis((0, 64), name="k")
    assert not _found([te.compute((16, 20), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k))])
    data, weight = var("data", 2, 3, 28, 28), var("weight", 4, 3, 5, 5)
    forward = ir.Function((data, weight), ops.conv2d(data, weight), attrs={"Primitive": 1})
    assert not _found(segment_of(forward, CPU).outputs)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("i,j,ij->ji", [(3,), (4,), (3, 4)]),
        (",k->k", [(), (16,)]),
        (",ik->i", [(), (4, 16)]),
        ("k,k->", [(16,), (16,)]),
    ],
)
def test_operands_of_any_rank(equation: str, shapes: list[tuple[int, ...]]) -> None:
    """Nor where an operand has no axes, or nothing is left to sum over."""
    operands = [var(f"x{n}", *shape) for n, shape in enumerate(shapes)]
    function = ir.Function(tuple(operands), ops.einsum(operands, equation=equation), attrs={"Primitive": 1})
    assert not _found(segment_of(function, CPU).outputs)
