"""Reductions over the states of a scan become states of their own."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime.base.arith import Expr, Var, cast, logical_and, lt, maximum, minimum, select
from opgen_runtime.base.vocabulary import INDEX, INT64
from opgen_runtime.compute import te
from opgen_runtime.compute.te import Tensor, read, reduce
from opgen_runtime.compute.te.tensor import IterVar, Scan, State
from opgen_runtime.lower.library import schedules
from tests.lower.library.test_library_preserves_results import eager
from tests.lower.tir.programs import Program, check_lowered


def recurrence(steps: int, width: int, direction: int, limit: int, shared: bool) -> Program:
    """h[t, i] = x[t, i] + sum(w[i, j] * h[t - 1, j]), where t < limit and 0 at the start."""
    x, w = te.placeholder("x", (steps, width), "int32"), te.placeholder("w", (width, width), "int32")
    t, i = IterVar(Var(INDEX, "t"), steps), IterVar(Var(INDEX, "i"), width)
    state = State((t, i), 0)
    scan = Scan((state,), steps, direction)
    h = state.tensor = Tensor("h", (steps, width), x.dtype, scan)
    j = te.reduce_axis(width, "j")
    there = lt(0, t.var) if direction > 0 else lt(t.var, steps - 1)

    def total() -> Expr:
        before = select(there, read(h, t.var - direction, j.var), 0)
        return reduce("sum", j, read(w, i.var, j.var) * before, lt(j.var, i.var + 1) if shared else None)

    more = reduce("max", j, select(there, read(h, t.var - direction, j.var), 0)) if shared else total()
    inside = logical_and(lt(t.var, limit), lt(0, read(x, t.var, i.var)))
    state.body = select(inside, (total() + more + read(x, t.var, i.var)) % 7, read(x, t.var, i.var))
    out = te.compute("out", (steps, width), "int32", lambda a, b: read(h, a, b) * 2)
    return Program((x, w), (out,))


def check_normal(program: Program) -> None:
    """The normal form gives the same results, and so does its kernel."""
    made = te.normalize(program.outputs)
    arrays = program.arrays()
    found = te.evaluate(made, dict(zip(program.inputs, arrays, strict=True)))
    np.testing.assert_array_equal(found[0], program.expected(arrays)[0])
    normal = Program(program.inputs, tuple(made))
    check_lowered(normal, schedules.generic(normal.outputs, eager("x86-64-v3")))


@given(st.integers(1, 4), st.integers(1, 9), st.sampled_from([1, -1]), st.integers(0, 5), st.booleans())
@settings(max_examples=12)
def test_the_same_results(steps: int, width: int, direction: int, limit: int, shared: bool) -> None:
    check_normal(recurrence(steps, width, direction, limit, shared))


def test_a_reduction_has_a_row_of_its_own() -> None:
    program = recurrence(3, 4, 1, 3, True)
    assert te.to_text(te.normalize(program.outputs)) == TEXT


TEXT = """\
w: int32[4, 4]
x: int32[3, 4]
scan t in range(3) upwards:
    h_step_sum[t, i]: int32[3, 4] = sum(w[i, j] * (h[t - 1, j] if 0 < t else int32(0)) for j in range(4) if int32(0) < x[t, i] and j < i + 1)
    h_step_max1[t, i]: int32[3, 4] = max(h[t - 1, j] if 0 < t else int32(0) for j in range(4) if int32(0) < x[t, i])
    h[t, i]: int32[3, 4] = (h_step_sum[t, i] + h_step_max1[t, i] + x[t, i]) % int32(7) if (t < 3) & (int32(0) < x[t, i]) else x[t, i]
out[i0, i1]: int32[3, 4] = h[i0, i1] * int32(2)
"""  # noqa: E501 -- a line of a program


def gated(steps: int, width: int, direction: int, limit: int) -> Program:
    """g[t, i] = sum(w[i, j] * before[j]); h[t, i] = sum(w[i, j] * (g[t, j] * before[j])) + sum(w[i, j] * before[j])."""
    x, w = te.placeholder("x", (steps, width), "int32"), te.placeholder("w", (width, width), "int32")
    names = ((IterVar(Var(INDEX, "t"), steps), IterVar(Var(INDEX, "i"), width)) for _ in range(2))
    states = tuple(State(axes, 0) for axes in names)
    scan = Scan(states, steps, direction)
    g, h = (Tensor(name, (steps, width), x.dtype, scan) for name in "gh")
    for state, tensor in zip(states, (g, h), strict=True):
        state.tensor = tensor
    j = te.reduce_axis(width, "j")

    def before(t: Var) -> Expr:
        there = lt(0, t) if direction > 0 else lt(t, steps - 1)
        return select(there, read(h, t - direction, j.var), 0)

    (t, i), (s, k) = ([axis.var for axis in state.axes] for state in states)
    states[0].body = (reduce("sum", j, read(w, i, j.var) * before(t)) + read(x, t, i)) % 5
    product = reduce("sum", j, read(g, s, j.var) * before(s) * read(w, k, j.var), lt(s, limit))
    states[1].body = (product + reduce("sum", j, before(s) * read(w, k, j.var)) + read(x, s, k)) % 7
    out = te.compute("out", (steps, width), "int32", lambda a, b: read(h, a, b) * 2)
    return Program((x, w), (out,))


@given(st.integers(1, 4), st.integers(1, 9), st.sampled_from([1, -1]), st.integers(0, 5))
@settings(max_examples=12)
def test_factors_are_computed_once(steps: int, width: int, direction: int, limit: int) -> None:
    check_normal(gated(steps, width, direction, limit))


def test_a_factor_has_a_row_of_its_own_and_equal_ones_share_it() -> None:
    assert te.to_text(te.normalize(gated(3, 4, 1, 2).outputs)) == GATED


GATED = """\
w: int32[4, 4]
x: int32[3, 4]
scan t in range(3) upwards:
    g_row[t, j]: int32[3, 4] = h[t - 1, j] if 0 < t else int32(0)
    g_step_sum[t, i]: int32[3, 4] = sum(w[i, j] * g_row[t, j] for j in range(4))
    g[t, i]: int32[3, 4] = (g_step_sum[t, i] + x[t, i]) % int32(5)
    h_row1[t, j]: int32[3, 4] = g[t, j] * (h[t - 1, j] if 0 < t else int32(0)) if t < 2 else int32(0)
    h_step_sum[t, i]: int32[3, 4] = sum(h_row1[t, j] * w[i, j] for j in range(4) if t < 2)
    h_step_sum1[t, i]: int32[3, 4] = sum(g_row[t, j] * w[i, j] for j in range(4))
    h[t, i]: int32[3, 4] = (h_step_sum[t, i] + h_step_sum1[t, i] + x[t, i]) % int32(7)
out[i0, i1]: int32[3, 4] = h[i0, i1] * int32(2)
"""


def masked(steps: int, rows: int, width: int, shifted: bool) -> Program:
    """h[t, n, i] = sum(w[i, j] * h[t - 1, n, j]) + sum(w[i, j] * x[.., n, j]) where t < lens[n], else what was."""
    x = te.placeholder("x", (steps, rows, width), "int32")
    w, lens = te.placeholder("w", (width, width), "int32"), te.placeholder("lens", (rows,), "int32")
    t, n, i = axes = tuple(IterVar(Var(INDEX, name), size) for name, size in zip("tni", x.shape, strict=True))
    state = State(axes, 0)
    scan = Scan((state,), steps, 1)
    h = state.tensor = Tensor("h", x.shape, x.dtype, scan)
    length = cast(minimum(maximum(read(lens, n.var), 0), steps), INT64)

    def before(column: Var) -> Expr:
        return select(lt(0, t.var), read(h, t.var - 1, n.var, column), 1)

    j = te.reduce_axis(width, "j")
    place = length - 1 - cast(t.var, INT64) if shifted else t.var
    total = reduce("sum", j, read(w, i.var, j.var) * before(j.var))
    total = total + reduce("sum", j, read(w, i.var, j.var) * read(x, place, n.var, j.var))
    state.body = select(lt(cast(t.var, INT64), length), total % 7, before(i.var))
    out = te.compute("out", x.shape, "int32", lambda a, b, c: read(h, a, b, c) * 2)
    return Program((x, w, lens), (out,))


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 9), st.booleans())
@settings(max_examples=12)
def test_rows_that_end_before_others(steps: int, rows: int, width: int, shifted: bool) -> None:
    check_normal(masked(steps, rows, width, shifted))


def test_rows_are_computed_as_long_as_one_is_wanted() -> None:
    assert te.to_text(te.normalize(masked(3, 2, 4, True).outputs)) == MASKED


MASKED = """\
lens: int32[2]
h_some[t]: bool[3] = any(cast(t, int64) < cast(min(max(lens[n], int32(0)), int32(3)), int64) for n in range(2))
w: int32[4, 4]
x: int32[3, 2, 4]
h_sum[t, n, i]: int32[3, 2, 4] = sum(w[i, j] * (x[cast(min(max(lens[n], int32(0)), int32(3)), int64) - int64(1) - cast(t, int64), n, j] if cast(t, int64) < cast(min(max(lens[n], int32(0)), int32(3)), int64) else int32(0)) for j in range(4))
scan t in range(3) upwards:
    h_row[t, n, j]: int32[3, 2, 4] = ((h[t - 1, n, j] if 0 < t else int32(1)) if cast(t, int64) < cast(min(max(lens[n], int32(0)), int32(3)), int64) else int32(0)) if h_some[t] else int32(0)
    h_step_sum[t, n, i]: int32[3, 2, 4] = sum(w[i, j] * h_row[t, n, j] for j in range(4) if h_some[t])
    h[t, n, i]: int32[3, 2, 4] = (h_step_sum[t, n, i] + h_sum[t, n, i]) % int32(7) if cast(t, int64) < cast(min(max(lens[n], int32(0)), int32(3)), int64) else h[t - 1, n, i] if 0 < t else int32(1)
out[i0, i1, i2]: int32[3, 2, 4] = h[i0, i1, i2] * int32(2)
"""  # noqa: E501 -- a line of a program
