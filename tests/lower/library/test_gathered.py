"""Lines of large tables that elements tell are asked for before they are read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opgen_runtime import te
from opgen_runtime.base.arith import Expr, Var, lt, maximum, minimum, select
from opgen_runtime.base.target import Target
from opgen_runtime.compute.te import Tensor
from opgen_runtime.lower import tir
from opgen_runtime.lower.library.schedules import generic

TARGET = Target.parse("llvm -num-threads=1")


def gathered(rows: int, columns: int, count: int, place: Callable[[Tensor, Var], Expr]) -> str:
    """The loop IR of `count` rows of a table."""
    table = te.placeholder((rows, columns), name="T")
    told = te.placeholder((count,), "int64", name="I")
    out = te.compute((count, columns), lambda i, j: table[place(told, i), j], name="C")
    schedule = generic([out], TARGET)
    return tir.to_text(tir.lower(schedule, [table, told], [out], "kernel"))


def clipped(told: Tensor, i: Var) -> Expr:
    return maximum(minimum(told[i], 99_999), 0)


def wrapped(told: Tensor, i: Var) -> Expr:
    element = told[i]
    return select(element < 0, element + 100_000, element)


def guarded(told: Tensor, i: Var) -> Expr:
    return select(lt(i, 20), told[i], 0)


@pytest.mark.parametrize(
    ("rows", "columns", "place", "ahead"),
    [
        (100_000, 256, clipped, True),
        (100_000, 256, wrapped, True),
        (100_000, 256, guarded, False),  # elements may not exist
        (1000, 256, clipped, False),  # a cache holds it
        (100_000, 4096, clipped, False),  # a machine sees where a line leads
        (10_000_000, 4, clipped, False),  # less than a line of the cache
    ],
)
def test_lines_are_asked_for(
    rows: int, columns: int, place: Callable[[Tensor, Var], Expr], ahead: bool
) -> None:
    text = gathered(rows, columns, 50, place)
    assert ("prefetch" in text) == ahead, text
    assert ("I[min(i + 8, 49)]" in text) == ahead, text
