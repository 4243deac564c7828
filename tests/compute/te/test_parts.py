"""Scans in parts: by numpy, the parts one after the other are the whole."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime.base.arith import Expr, ge, lt, select
from opgen_runtime.base.vocabulary import FLOAT64
from opgen_runtime.compute import te
from opgen_runtime.compute.te.derivative import recurrence_of
from opgen_runtime.compute.te.evaluation import evaluate


def recurrence(steps: int, direction: int, back: int) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """x, and two states over it: s reads what t has in this step, t reads s `back` steps before, and s one before."""
    x = te.placeholder("x", (2, steps), "float64")
    first, second = te.State(te.data_axes((2, steps)), 1), te.State(te.data_axes((steps, 2)), 0)
    scan = te.Scan((first, second), steps, direction)
    t, s = te.Tensor("t", (2, steps), FLOAT64, scan), te.Tensor("s", (steps, 2), FLOAT64, scan)
    first.tensor, second.tensor = t, s

    def before(row: Expr, column: Expr, distance: int) -> Expr:
        at = row - direction * distance
        inside = ge(at, 0) if direction > 0 else lt(at, steps)
        return select(inside, te.read(s, at, column), 0.25)

    column, row = (axis.var for axis in first.axes)
    first.body = te.read(x, column, row) * before(row, column, back)
    row, column = (axis.var for axis in second.axes)
    second.body = te.read(t, column, row) - before(row, column, 1)
    return x, t, s


@pytest.mark.parametrize("direction", [1, -1])
def test_parts_one_after_the_other_are_the_whole(direction: int) -> None:
    random = np.random.default_rng(0)
    for steps, every, back in ((7, 3, 1), (7, 3, 2), (6, 2, 3), (13, 4, 2), (5, 4, 1), (3, 2, 4)):
        x, t, s = recurrence(steps, direction, back)
        turned = te.compute(
            "turned", (2, steps), "float64", lambda i, k, s=s, n=steps: 2.0 * te.read(s, n - 1 - k, i)
        )
        last = te.compute("last", (2,), "float64", lambda i, t=t, n=steps: te.read(t, i, n - 1))
        outputs = (turned, last, s)
        found = recurrence_of(outputs)
        assert found is not None
        assert found.depths == {s: max(back, 1)}
        a = random.normal(size=(2, steps))
        wanted = evaluate(outputs, {x: a})
        number, starts = te.placeholder("number", (), "int64"), found.starts()
        ends, shares = found.part(every, starts, number)
        te.verify_tensors([*ends, *shares], "parts", frozenset((x, number, *starts)))
        rows, sums = (
            [np.full(start.shape, np.nan) for start in starts],
            [np.zeros_like(each) for each in wanted],
        )
        for k in range(-(-steps // every)):
            given = {x: a, number: np.array(k), **dict(zip(starts, rows, strict=True))}
            *rows, turned_, last_, s_ = evaluate((*ends, *shares), given)
            sums = [total + share for total, share in zip(sums, (turned_, last_, s_), strict=True)]
        for one, other in zip(sums, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_has_no_parts() -> None:
    x, _, s = recurrence(5, 1, 1)
    squared = te.compute("squared", (5,), "float64", lambda k: te.read(s, k, 0) * te.read(s, k, 0))
    beside = te.compute("beside", (5,), "float64", lambda k: te.read(s, k, 0) + te.read(x, 0, k))
    again = recurrence(5, 1, 1)[2]
    both = te.compute("both", (5,), "float64", lambda k: te.read(s, k, 0) + te.read(again, k, 0))
    for output in (squared, beside, both, x):
        assert recurrence_of([output]) is None
    assert recurrence_of([s]) is not None
