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


@given(st.integers(1, 4), st.integers(1, 9), st.sampled_from([1, -1]), st.integers(0, 5), st.booleans())
@settings(max_examples=12)
def test_the_same_results(steps: int, width: int, direction: int, limit: int, shared: bool) -> None:
    program = recurrence(steps, width, direction, limit, shared)
    made = te.normalize(program.outputs)
    arrays = program.arrays()
    found = te.evaluate(made, dict(zip(program.inputs, arrays, strict=True)))
    np.testing.assert_array_equal(found[0], program.expected(arrays)[0])
    normal = Program(program.inputs, tuple(made))
    check_lowered(normal, schedules.generic(normal.outputs, eager("x86-64-v3")))


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
