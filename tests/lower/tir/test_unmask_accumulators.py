"""Accumulators accumulate in all lanes where nobody reads those of a tail, and in no others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import te
from opgen_runtime.base.arith import Select
from opgen_runtime.lower import tir
from opgen_runtime.lower.schedule import Schedule, create_schedule
from opgen_runtime.lower.tir.nodes.stmt import Store
from opgen_runtime.lower.tir.nodes.visit import statements
from tests.lower.tir.programs import Program, check_lowered

LANES = 8


def columns(extent: int, steps: int, shift: int = 0) -> tuple[Program, Schedule]:
    """Sums of products down the columns, some elements further on; vectors of columns, the steps outside of them."""
    a = te.placeholder((steps, extent + shift), name="a")
    b = te.placeholder((steps,), name="b")
    k = te.reduce_axis((0, steps), name="k")
    out = te.compute((extent,), lambda j: te.sum(a[k, j + shift] * b[k], axis=k), name="out")
    schedule = create_schedule([out])
    stage = schedule[out]
    tiles, lane = stage.split(stage.axes[0], LANES)
    stage.reorder(tiles, *stage.reduce_axes, lane)
    stage.vectorize(lane)
    return Program((a, b), (out,)), schedule


def chosen(program: Program, schedule: Schedule) -> int:
    """How many statements keep lanes of what they accumulate in."""
    func = tir.run_phases(tir.lower(schedule, program.inputs, program.outputs, "kernel"))
    return sum(isinstance(s, Store) and isinstance(s.value, Select) for s in statements(func.body))


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_tails_of_columns(extent: int, steps: int, shift: int) -> None:
    program, schedule = columns(extent, steps, shift)
    assert chosen(program, schedule) == 0
    check_lowered(program, schedule)


@pytest.mark.parametrize(("extent", "widths"), [(27, {8, 4}), (29, {8}), (25, {8}), (26, {8, 2})])
def test_a_tail_is_as_wide_as_it_needs(extent: int, widths: set[int]) -> None:
    """3 of 8 lanes are 4, 5 are 8, one is none."""
    program, schedule = columns(extent, 3)
    text = tir.to_text(tir.run_phases(tir.lower(schedule, program.inputs, program.outputs, "kernel")))
    assert {
        n for n in (2, 4, 8) if f", 1, {n})] * splat" in text or f", 1, {n}); lanes] * splat" in text
    } == widths


@given(st.integers(2, 40))
@settings(max_examples=20, deadline=None)
def test_sums_over_lanes_keep_them(extent: int) -> None:
    """All lanes are added up in the end: those beyond the last element must stay what they are."""
    a = te.placeholder((3, extent), name="a")
    k = te.reduce_axis((0, extent), name="k")
    out = te.compute((3,), lambda i: te.sum(a[i, k], axis=k), name="out")
    schedule = create_schedule([out])
    _, lane = schedule[out].split(k, LANES)
    schedule[out].vectorize(lane)
    check_lowered(Program((a,), (out,)), schedule)


def doubled(read_whole: bool) -> list[str]:
    """A tile of exponentials of an open row, read by an output in the lanes that there are, or in all of a sum."""
    m = rt.dim("m")
    x = te.placeholder((4, m), name="x")
    z = te.compute((4, m), lambda i, j: te.exp(x[i, j]), name="z")
    if read_whole:
        k = te.reduce_axis((0, m), name="k")
        y = te.compute((4,), lambda i: te.sum(z[i, k], axis=k), name="y")
    else:
        y = te.compute((4, m), lambda i, j: z[i, j] * 2.0 + x[i, j], name="y")
    schedule = create_schedule([y])
    stage, tile = schedule[y], schedule[z]
    at = stage.axes[0]
    if not read_whole:
        outer, inner = stage.split(stage.axes[1], 2 * LANES)
        stage.reorder(at, outer, inner)
        at = stage.fuse(at, outer)
        stage.vectorize(stage.split(inner, LANES)[1])
    tile.vectorize(tile.split(tile.axes[1], LANES)[1])
    tile.compute_at(stage, at)
    found: dict[str, str] = {}
    tir.run_phases(tir.lower(schedule, [x], [y], "f"), lambda name, func: found.update({name: str(func)}))
    stores = [
        line.split(" = ")[0].strip() for line in found["unmask_accumulators"].splitlines() if " = " in line
    ]
    return [place for place in stores if place.startswith("z[")]


def test_lanes_that_nobody_reads_are_written() -> None:
    assert doubled(read_whole=False) == ["z[ramp(j_o * 8, 1, 8)]"]


def test_a_buffer_of_an_open_size_is_written_where_it_is() -> None:
    assert doubled(read_whole=True) == ["z[ramp(j_o * 8, 1, 8)]", "z[ramp(m // 8 * 8, 1, 8); lanes]"]
