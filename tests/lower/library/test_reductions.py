"""Schedules of reductions along rows: how many vectors of accumulators they have."""

from __future__ import annotations

import opgen_runtime.te as dsl
import pytest

from opgen_runtime.base.arith import Expr
from opgen_runtime.base.target import Target
from opgen_runtime.compute.te import Tensor
from opgen_runtime.lower.library import schedules

_TARGET = Target.parse("llvm -mcpu=x86-64-v3 -num-threads=1")


def rows(n: int, m: int, kind: str) -> Tensor:
    x, k = dsl.placeholder((n, m), name="x"), dsl.reduce_axis((0, m), name="k")

    def value(i: Expr) -> Expr:
        if kind == "max":
            return dsl.max(x[i, k], axis=k)
        return dsl.sum(x[i, k] * x[i, k] if kind == "squares" else x[i, k], axis=k)

    return dsl.compute((n,), value, name="out")


@pytest.mark.parametrize(
    ("n", "m", "kind", "vectors"),
    [
        (100, 1000, "sum", 4),  # a cache holds it
        (10_000, 1000, "sum", 1),  # memory feeds it
        (10_000, 1000, "max", 4),  # of longer latency
        (10_000, 1000, "squares", 4),
        (10, 1_000_000, "sum", 4),  # a lane of one vector would add up too much
    ],
)
def test_accumulators(n: int, m: int, kind: str, vectors: int) -> None:
    out = rows(n, m, kind)
    trace = str(schedules.generic((out,), _TARGET).trace)
    assert (f"k_o_o, k_o_i = out.split(k_o, {vectors})" in trace) == (vectors > 1), trace
    assert "k_o, k_i = out.split(k, 8)" in trace
