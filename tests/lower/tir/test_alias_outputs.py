"""Temporaries live in the part of an output that is made of them, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime import te
from opgen_runtime.base.arith import Expr, Var, const
from opgen_runtime.base.vocabulary import FLOAT32, INDEX
from opgen_runtime.lower import tir
from opgen_runtime.lower.schedule import Schedule, create_schedule
from opgen_runtime.lower.tir.nodes.stmt import (
    Allocate,
    Block,
    Buffer,
    For,
    ForKind,
    Load,
    PrimFunc,
    Stmt,
    Store,
)
from opgen_runtime.lower.tir.phases.alias_outputs import alias_outputs
from tests.lower.tir.programs import Program, check_lowered

COLUMNS = 256


def rows(columns: int, reads: str = "own", count: int = 4) -> tuple[Program, Schedule]:
    """Rows of squares, their sums, and an output of both; squares and sums are computed for each row of the output."""
    x = te.placeholder((count, columns), name="x")
    k = te.reduce_axis((0, columns), name="k")
    e = te.compute((count, columns), lambda i, j: x[i, j] * x[i, j], name="e")
    s = te.compute((count,), lambda i: te.sum(e[i, k], axis=k), name="s")
    at = {
        "own": lambda i, j: e[i, j] + s[i],
        "twice": lambda i, j: e[i, j] * e[i, j] + s[i],
        "mirrored": lambda i, j: e[i, columns - 1 - j] + s[i],
        "first": lambda i, j: e[i, 0] + s[i],
        "both": lambda i, j: e[i, j] + e[i, columns - 1 - j] + s[i],
    }[reads]
    out = te.compute((count, columns), at, name="out")
    schedule = create_schedule([out])
    for stage in (schedule[e], schedule[s]):
        stage.compute_at(schedule[out], schedule[out].axes[0])
    return Program((x,), (out,)), schedule


def temporaries(program: Program, schedule: Schedule) -> set[str]:
    func = tir.run_phases(tir.lower(schedule, program.inputs, program.outputs, "kernel"))
    lines = tir.to_text(func).splitlines()
    return {line.split()[1].rstrip(":") for line in lines if line.lstrip().startswith("allocate")}


def test_a_row_lives_in_its_output() -> None:
    program, schedule = rows(COLUMNS)
    func = tir.run_phases(tir.lower(schedule, program.inputs, program.outputs, "kernel"))
    assert tir.to_text(func).partition("\n")[2] == (
        "    for i in range(4):\n"
        "        for j in range(256):\n"
        "            out[i * 256 + j] = x[i * 256 + j] * x[i * 256 + j]\n"
        "        allocate s: float32[1] local\n"
        "        allocate sum1: float32[1] local:\n"
        "            sum1[0] = 0.0\n"
        "            for k in range(256):\n"
        "                sum1[0] = sum1[0] + out[i * 256 + k]\n"
        "            s[0] = sum1[0]\n"
        "        for j in range(256):\n"
        "            out[i * 256 + j] = out[i * 256 + j] + s[0]\n"
    )


@pytest.mark.parametrize(
    ("reads", "lodged"), [("own", 1), ("twice", 1), ("mirrored", 0), ("first", 0), ("both", 0)]
)
def test_each_element_is_read_where_it_lives(reads: str, lodged: int) -> None:
    program, schedule = rows(COLUMNS, reads)
    assert len({"e"} - temporaries(program, schedule)) == lodged
    check_lowered(program, schedule)


def test_rows_that_other_iterations_touch_stay() -> None:
    """A row of squares is computed again for each half of the row of the output: only half of it becomes output."""
    program, schedule = rows(2 * COLUMNS, count=1)
    out = schedule[program.outputs[0]]
    half, _ = out.split(out.axes[1], COLUMNS)
    for stage in schedule.stages:
        if stage.attach is not None:
            stage.compute_at(out, half)
    assert "e" in temporaries(program, schedule)
    check_lowered(program, schedule)


def test_what_is_read_again_stays() -> None:
    """A second output of the same row, made after the first one: that must not take the row's place."""
    i, j, k = (Var(INDEX, name) for name in "ijk")
    x, row, first, second = (
        Buffer(name, (size,), FLOAT32, scope)
        for name, size, scope in (
            ("x", 512, "global"),
            ("row", 256, "local"),
            ("a", 512, "global"),
            ("b", 512, "global"),
        )
    )

    def copied(target: Buffer, position: Expr, source: Buffer, at: Expr, var: Var) -> Stmt:
        store = Store(target, (position,), Load(FLOAT32, source, (at,)) * 2.0)
        return For(var, const(0, INDEX), const(256, INDEX), ForKind.SERIAL, store)

    fill = copied(row, j, x, i * 256 + j, j)
    early = copied(first, i * 256 + j, row, j, j)
    late = copied(second, i * 256 + k, row, k, k)
    for steps, lodged in (
        ((fill, early, late), True),
        ((fill, late, early), True),
        ((fill, late, early, late), False),
    ):
        body = For(i, const(0, INDEX), const(2, INDEX), ForKind.SERIAL, Allocate(row, Block(steps)))
        func = alias_outputs(PrimFunc("kernel", (x,), (first, second), body))
        assert ("allocate" not in tir.to_text(func)) == lodged
        values = np.arange(512, dtype=np.float32)
        for version in (func, PrimFunc("kernel", (x,), (first, second), body)):
            found = tir.interpret(version, [values])
            np.testing.assert_array_equal(found[0], values * 4.0)


@given(st.integers(250, 280), st.sampled_from(["own", "twice", "mirrored", "first", "both"]), st.data())
@settings(max_examples=6, deadline=None)
def test_any_loops(columns: int, reads: str, data: st.DataObject) -> None:
    """Whatever the loops are, results stay, and all accesses are within bounds."""
    program, schedule = rows(columns, reads, count=data.draw(st.sampled_from([1, 2])))
    for stage in schedule.stages:
        if stage.body is None:
            continue
        inner = stage.axes[-1] if not stage.reduce_axes else None
        if inner is not None and data.draw(st.booleans()):
            _, lane = stage.split(inner, data.draw(st.sampled_from([4, 8, 16])))
            stage.vectorize(lane)
    check_lowered(program, schedule)


@pytest.mark.parametrize(("count", "lodged"), [(1 << 13, 1), (1 << 14, 0)])
def test_an_output_that_is_written_past_the_caches_takes_none(count: int, lodged: int) -> None:
    program, schedule = rows(COLUMNS, count=count)
    out = schedule[program.outputs[0]]
    _, lane = out.split(out.axes[1], 16)
    out.vectorize(lane)
    assert len({"e"} - temporaries(program, schedule)) == lodged
