"""Short loops that a schedule has unrolled by a pragma."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import te
from opgen_runtime.lower.schedule.schedule import replay


@pytest.mark.parametrize(
    ("steps", "kinds"),
    [
        (0, "for for for for"),
        (3, "for for for for"),
        (4, "for for for unrolled"),
        (17, "for for for unrolled"),
        (18, "for for unrolled unrolled"),
    ],
)
def test_loops_inside_an_axis(steps: int, kinds: str) -> None:
    x = te.placeholder((8, 3, 4), name="x")
    k = te.reduce_axis((0, 4), name="k")
    y = te.compute((8, 3), lambda i, j: te.sum(x[i, j, k], axis=k), name="y")
    schedule = te.create_schedule(y)
    outer, _ = schedule[y].split(y.op.axis[0], factor=2)
    schedule[y].pragma(outer, "auto_unroll_max_step", steps)
    text = str(rt.lower(schedule, [x, y], "f"))
    assert " ".join([line.split()[0] for line in text.splitlines() if " in range(" in line]) == kinds, text
    assert f"loops of at most {steps} statements unrolled" in str(schedule)
    array = np.arange(96, dtype="float32").reshape(8, 3, 4)
    np.testing.assert_array_equal(rt.build(schedule, [x, y])(array), array.sum(2))
    assert str(rt.lower(replay(str(schedule.trace), [y]), [x, y], "f")) == text


def test_loops_of_stages_that_are_computed_there() -> None:
    x = te.placeholder((8, 4), name="x")
    y = te.compute((8, 4), lambda i, j: x[i, j] * 2.0, name="y")
    z = te.compute((8, 4), lambda i, j: y[i, j] + 1.0, name="z")
    schedule = te.create_schedule(z)
    schedule[y].compute_at(schedule[z], z.op.axis[0])
    schedule[z].vectorize(z.op.axis[1])
    schedule[z].pragma(z.op.axis[0], "auto_unroll_max_step", 4)
    assert (
        str(rt.lower(schedule, [x, z], "f"))
        == """\
f(x: float32[8, 4]) -> (z: float32[8, 4]):
    for i in range(8):
        allocate y: float32[1, 4] local
        unrolled for j in range(4):
            y[0, j] = x[i, j] * 2.0
        vectorized for j in range(4):
            z[i, j] = y[0, j] + 1.0
"""
    )
