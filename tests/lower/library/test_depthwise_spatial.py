"""Filters that all positions of a plane share: recognised from what is read, and right for every window."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import ir, ops, te
from opgen_runtime.base.target import Target
from opgen_runtime.lower import tir
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.library.schedules.common.plan import inline_cheap
from opgen_runtime.lower.library.schedules.convolution.depthwise_spatial import match_filter
from opgen_runtime.lower.library.segment import Segment, segment_of
from opgen_runtime.lower.schedule import Split, Stage, create_schedule
from opgen_runtime.lower.tir.nodes.stmt import If, Store
from opgen_runtime.lower.tir.nodes.visit import statements
from tests.lower.library.test_contractions import agrees, var

CPU = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")


@st.composite
def depthwise(draw: st.DrawFn) -> tuple[list[ir.Var], ir.Expr]:
    """A convolution of each channel, one in three with several filters a channel; often with what follows."""
    rank, channels = draw(st.sampled_from([2, 2, 2, 3])), draw(st.integers(1, 5))
    kernel = tuple(draw(st.integers(1, 5)) for _ in range(rank))
    dilation = tuple(draw(st.sampled_from([1, 1, 2])) for _ in range(rank))
    widest = [step * (extent - 1) + 1 for step, extent in zip(dilation, kernel, strict=True)]
    sizes = [extent + draw(st.integers(0, 24 if n == rank - 1 else 9)) for n, extent in enumerate(widest)]
    data = var("data", draw(st.integers(1, 2)), channels, *sizes)
    weight = var("weight", channels * draw(st.sampled_from([1, 1, 3])), 1, *kernel)
    conv = {2: ops.conv2d, 3: ops.conv3d}[rank]
    body: ir.Expr = conv(
        data,
        weight,
        strides=tuple(draw(st.integers(1, 3)) for _ in range(rank)),
        padding=tuple(draw(st.integers(0, 2)) for _ in range(2 * rank)),
        dilation=dilation,
        groups=channels,
    )
    variables = [data, weight]
    if draw(st.booleans()):
        bias = var("bias", weight.checked_type.shape[0])  # type: ignore[attr-defined]  # a tensor type
        residual = ir.Var("residual", body.checked_type)
        body = ops.relu(ops.add(ops.bias_add(body, bias, axis=1), residual))
        variables += [bias, residual]
    return variables, body


@given(depthwise(), st.sampled_from([1, 2]))
@settings(max_examples=25)
def test_depthwise_convolutions(program: tuple[list[ir.Var], ir.Expr], threads: int) -> None:
    agrees(*program, threads)


@given(st.integers(1, 7), st.integers(2, 4), st.integers(1, 9), st.integers(4, 9), st.sampled_from([1, 2]))
@settings(max_examples=15)
def test_few_channels_a_group(channels: int, groups: int, filters: int, side: int, stride: int) -> None:
    """Products of few steps: columns that lie side by side are read as they lie."""
    data, weight = (
        var("data", 2, channels * groups, side, side + 1),
        var("weight", filters * groups, channels, 1, 1),
    )
    agrees([data, weight], ops.conv2d(data, weight, groups=groups, strides=(stride, stride)), 1)


def _outputs(side: int, kernel: int, channels: int, **attrs: object) -> Sequence[te.Tensor]:
    data, weight = var("data", 1, channels, side, side), var("weight", channels, 1, kernel, kernel)
    body = ops.conv2d(data, weight, groups=channels, **attrs)
    return segment_of(ir.Function((data, weight), body, attrs={"Primitive": 1}), CPU).outputs


def test_a_padded_plane_is_read_once() -> None:
    schedule = generic(_outputs(28, 5, 32, padding=(2, 2)), CPU)
    staging = next(stage for stage in schedule.stages if stage.origin.startswith("stage_operand"))
    assert staging.tensor.shape == (32, 32, 32)
    assert staging.attach is not None, "a plane at a time"


@pytest.mark.parametrize(
    ("side", "tile"), [(7, (7, 8)), (14, (7, 16)), (28, (7, 16)), (56, (8, 16)), (85, (8, 16))]
)
def test_tiles_are_parts_of_about_the_same_size(side: int, tile: tuple[int, int]) -> None:
    schedule = generic(_outputs(side, 3, 4, padding=(1, 1)), CPU)
    splits = [each for each in schedule.stages[-1].relations if isinstance(each, Split)]
    assert tuple(each.factor for each in splits[:2]) == tile


def _segment(height: object, width: object, **attrs: object) -> Segment:
    data = ir.Var("data", rt.TensorType((1, 4, height, width), "float32"))
    weight = var("weight", 4, 1, 3, 3)
    body = ops.conv2d(data, weight, groups=4, **attrs)
    return segment_of(ir.Function((data, weight), body, attrs={"Primitive": 1}), CPU)


@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 1)])
def test_tiles_of_open_planes_are_whole(padding: tuple[int, int], strides: tuple[int, int]) -> None:
    """Nothing is guarded but the store, and nothing that the sum reads is undefined."""
    segment = _segment(rt.dim("h"), rt.dim("w"), padding=padding, strides=strides)
    func = tir.lower(generic(segment.outputs, CPU), segment.inputs, segment.outputs, "f")
    guards = [node for node in statements(func.body) if isinstance(node, If)]
    assert len(guards) == 2, "of rows and columns"
    stored = {each.buffer.name for guard in guards for each in statements(guard) if isinstance(each, Store)}
    assert stored == {func.outputs[0].name}


def test_where_rows_alone_are_open_they_are_guarded() -> None:
    segment = _segment(rt.dim("h"), 28, padding=(1, 1))
    stages = generic(segment.outputs, CPU).stages
    assert [each.origin for each in stages if each.origin.startswith("round_up")] == []


def _found(outputs: Sequence[te.Tensor]) -> set[Stage]:
    schedule = create_schedule(outputs)
    inline_cheap(schedule, CPU)
    found = [match_filter(schedule, stage, CPU) for stage in schedule.stages if not stage.inlined]
    return {each for each in found if isinstance(each, Stage)}


def test_what_is_a_filter() -> None:
    assert _found(_outputs(28, 3, 4))
    assert not _found(_outputs(28, 2, 4, strides=(2, 2))), "windows that share nothing"
    assert not _found(_outputs(3, 3, 4, padding=(1, 1))), "too few columns"
    image, rows = te.placeholder((4, 9, 20), name="image"), te.placeholder((4, 3, 20), name="rows")
    step = te.reduce_axis((0, 3), name="r")
    out = te.compute((4, 7, 20), lambda c, y, x: te.sum(image[c, y + step, x] * rows[c, step, x], axis=step))
    assert not _found([out]), "the filter moves along a row"
