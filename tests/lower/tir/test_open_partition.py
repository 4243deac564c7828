"""Loops of symbolic extent are split where their guards begin to matter."""

from __future__ import annotations

import opgen_runtime as rt
from opgen_runtime import te
from opgen_runtime.base.arith import Analyzer, Var
from opgen_runtime.base.vocabulary import INDEX
from opgen_runtime.lower.schedule import create_schedule
from opgen_runtime.lower.tir import lower
from opgen_runtime.lower.tir.phases import run_phases


def partitioned(factor: int, kind: str) -> str:
    """x + 1 over a symbolic dim, its loop split by a factor, after loop_partition."""
    n = rt.dim("n")
    x = te.placeholder((n,), "float32", "x")
    y = te.compute((n,), lambda i: x[i] + 1.0, "y")
    schedule = create_schedule([y])
    stage = schedule[y]
    _, inner = stage.split(stage.axes[0], factor)
    getattr(stage, kind)(inner)
    found: list[tuple[str, str]] = []
    run_phases(lower(schedule, [x], [y], "f"), lambda name, func: found.append((name, str(func))))
    return dict(found)["loop_partition"].split("\n", 1)[1]


def test_the_last_iteration_keeps_its_guard() -> None:
    assert partitioned(16, "vectorize").rstrip() == (
        "    for i_o in range(n // 16):\n"
        "        vectorized for i_i in range(16):\n"
        "            y[i_o * 16 + i_i] = x[i_o * 16 + i_i] + 1.0\n"
        "    if n // 16 < (n + 15) // 16:\n"
        "        vectorized for i_i in range(16):\n"
        "            if n // 16 * 16 + i_i < n:\n"
        "                y[n // 16 * 16 + i_i] = x[n // 16 * 16 + i_i] + 1.0"
    )


def test_strides_are_polynomials_of_dims() -> None:
    n, m = rt.dim("n"), rt.dim("m")
    i, j, k = (Var(INDEX, name) for name in "ijk")
    analyzer = Analyzer()
    found, entangled = analyzer.coefficients((i * n + j) * m + k // 2 + i * j)
    shown = {var.name: str(analyzer.expression(factor)) for var, factor in found.items()}
    assert shown == {"i": "n * m", "j": "m"}
    assert {var.name for var in entangled} == {"i", "j", "k"}
