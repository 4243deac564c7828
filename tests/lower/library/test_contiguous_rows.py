"""Lines of the results of contractions: how far a tile of rows goes along them, and which are columns by themselves."""

from __future__ import annotations

import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.target import Target
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.library.segment import segment_of
from opgen_runtime.lower.schedule import ForKind, Schedule
from tests.lower.library.test_contractions import agrees, var


def _schedule(shape: tuple[int, ...], weight: tuple[int, ...], **attrs: int) -> Schedule:
    x, w = var("x", *shape), var("w", *weight)
    function = ir.Function((x, w), ops.conv2d(x, w, **attrs), attrs={"Primitive": 1})
    cpu = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")
    return generic(segment_of(function, cpu).outputs, cpu)


@pytest.mark.parametrize(
    ("channels", "filters", "last"),
    [
        (4, 60, 32),  # as many as fit the first-level cache
        (16, 60, 8),
        (60, 60, 10),  # tiles of rows: too few panels stay near
    ],
)
def test_a_tile_of_few_steps_goes_along_several_panels(channels: int, filters: int, last: int) -> None:
    schedule = _schedule((1, channels, 96, 96), (filters, channels, 1, 1))
    leader = schedule.stages[-1]
    loops = [axis.extent for axis in leader.leaves if leader.kind(axis) is ForKind.SERIAL]
    assert loops[-1] == last, schedule


@pytest.mark.parametrize(
    ("channels", "filters", "side", "packed"),
    [
        (3, 33, 64, False),  # its lines fill panels
        (3, 33, 70, True),
        (1, 33, 70, False),  # packing is more than what is computed with it
        (80, 33, 64, True),  # the windows of a panel are not near when the next tile reads them
    ],
)
def test_windows_are_read_as_they_lie(channels: int, filters: int, side: int, packed: bool) -> None:
    schedule = _schedule((1, channels, side, side), (filters, channels, 3, 3), padding=1)
    assert (
        any(stage.origin.startswith("pack") and stage.attach is not None for stage in schedule.stages)
        == packed
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("shape", "weight", "groups"),
    [
        ((1, 3, 41, 43), (70, 3, 1, 1), 1),
        ((2, 8, 50, 67), (40, 2, 1, 1), 4),
        ((1, 4, 45, 61), (36, 1, 3, 3), 4),
        ((2, 3, 33, 64), (20, 3, 3, 3), 1),
        ((1, 2, 40, 40), (9, 2, 5, 3), 1),
    ],
)
def test_convolutions_of_few_steps(
    shape: tuple[int, ...], weight: tuple[int, ...], groups: int, threads: int
) -> None:
    x, w = var("x", *shape), var("w", *weight)
    agrees([x, w], ops.conv2d(x, w, padding=weight[-1] // 2, groups=groups), threads)


@pytest.mark.parametrize(
    ("filters", "stride", "turned"),
    [
        (33, 3, True),  # windows side by side would be packed, filters are packed once and for all
        (23, 2, True),  # some lanes are lost, but no window is packed
        (9, 2, False),  # too many are
    ],
)
def test_constant_filters_are_the_columns(filters: int, stride: int, turned: bool) -> None:
    x, w = var("x", 1, 100, 22, 22), var("w", filters, 100, 3, 3)
    function = ir.Function((x, w), ops.conv2d(x, w, strides=stride), attrs={"Primitive": 1})
    cpu = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")
    schedule = generic(segment_of(function, cpu, (1,)).outputs, cpu)
    assert any(stage.origin.startswith("permute") for stage in schedule.stages) == turned


def test_rows_lie_in_tiles_also_where_the_last_one_is_not_full() -> None:
    """Each step of a tile would read a line of the cache of its own otherwise, as far apart as there are rows."""
    x, w = var("x", 1, 24, 14, 14), var("w", 128, 24, 1, 1)
    function = ir.Function((x, w), ops.conv2d(x, w), attrs={"Primitive": 1})
    cpu = Target.parse("llvm -mcpu=x86-64-v3 -num-threads=1")
    schedule = generic(segment_of(function, cpu, (1,)).outputs, cpu)
    tiles = [
        stage.tensor.shape
        for stage in schedule.stages
        if stage.origin.startswith("pack") and stage.attach is None
    ]
    assert (22, 24, 1, 1, 6) in tiles, tiles
    agrees([x, w], ops.conv2d(x, w), 1)


def test_windows_of_few_positions_are_no_correlation() -> None:
    schedule = _schedule((1, 20, 10, 10), (192, 20, 6, 6), strides=3)
    assert "reduce vectorized" not in str(schedule)


@pytest.mark.parametrize("groups", [1, 2])
def test_lines_of_one_element_are_no_columns(groups: int) -> None:
    x, w = var("x", 2, 6, 8, 7), var("w", 54, 6 // groups, 1, 4)
    body = ops.conv2d(x, w, strides=(1, 2), groups=groups, padding=(2, 1, 2, 0), dilation=(2, 2))
    agrees([x, w], body, 1)
