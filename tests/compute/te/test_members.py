"""Reductions over the states of a scan become states of their own."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime.base.arith import Expr, Var, logical_and, lt, select
from opgen_runtime.base.vocabulary import INDEX
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
