"""Masks of positions in steps before or behind an open end, and quotients by open extents, are those of numpy."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import te
from opgen_runtime.lower.schedule import create_schedule

COUNT, LANES = 35, 8


@pytest.mark.parametrize("step", [1, 2, 3, 5])
@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_masks(compare: Callable[[object, object], object], step: int) -> None:
    n = rt.dim("n")
    x = te.placeholder((n,), "float32", "x")
    y = te.compute((COUNT,), lambda i: te.cast(compare(i * step - 7, n), "float32"), "y")
    schedule = create_schedule([y])
    schedule[y].vectorize(schedule[y].split(schedule[y].axes[0], LANES)[1])
    built = rt.build(schedule, [x, y])
    for size in range(1, COUNT * step + 2):
        wanted = compare(np.arange(COUNT) * step - 7, size)
        np.testing.assert_array_equal(built(np.zeros(size, np.float32)), np.asarray(wanted, np.float32))


def test_quotients_by_an_open_extent() -> None:
    n = rt.dim("n")
    x = te.placeholder((n,), "float32", "x")
    y = te.compute((60,), lambda i: te.cast(i // n * 100 + i % n, "float32"), "y")
    built = rt.build(create_schedule([y]), [x, y])
    for size in (1, 2, 7, 59, 60, 61):
        places = np.arange(60)
        wanted = (places // size * 100 + places % size).astype(np.float32)
        np.testing.assert_array_equal(built(np.zeros(size, np.float32)), wanted)
