"""Lines that are read at quotients: each residue is a vector of its own, computed as it lies in what is read."""

from __future__ import annotations

import opgen_runtime.te as dsl
import pytest

from opgen_runtime.base.arith import Expr, select
from opgen_runtime.base.target import Target
from opgen_runtime.lower import tir
from opgen_runtime.lower.library import schedules

_TARGET = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")


@pytest.mark.parametrize(
    ("stride", "guarded", "split"),
    [(3, False, True), (3, True, True), (2, False, False), (4, True, False), (7, False, False)],
)
def test_lines_divided_by_three(stride: int, guarded: bool, split: bool) -> None:
    """Vectors take each element two or four times; by three they would divide positions and gather."""
    x = dsl.placeholder((8, 20), name="x")

    def value(i: Expr, j: Expr) -> Expr:
        read = x[i, j // stride]
        return select(j // stride < 19, read, 0.0) if guarded else read

    out = dsl.compute((8, 20 * stride), value, name="out")
    schedule = schedules.generic((out,), _TARGET)
    assert (f"out.split(j, {stride})" in str(schedule.trace)) == split
    if split:
        text = tir.to_text(tir.run_phases(tir.lower(schedule, (x,), (out,), "kernel")))
        assert f"// splat({stride}" not in text
