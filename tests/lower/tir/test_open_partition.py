"""Loops of symbolic extent are split where their guards begin to matter."""

from __future__ import annotations

import opgen_runtime as rt
from opgen_runtime import te
from opgen_runtime.base.arith import Analyzer, Var, const, lt, maximum, select
from opgen_runtime.base.vocabulary import INDEX, DType
from opgen_runtime.lower.schedule import ForKind, create_schedule
from opgen_runtime.lower.tir import lower
from opgen_runtime.lower.tir.nodes.nest import ZERO
from opgen_runtime.lower.tir.nodes.stmt import Buffer, For, If, Load, PrimFunc, Store
from opgen_runtime.lower.tir.nodes.text import stmt_text
from opgen_runtime.lower.tir.phases import run_phases
from opgen_runtime.lower.tir.phases.loop_partition import loop_partition


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


def test_unrolled_vectors_end_with_their_guard() -> None:
    n = rt.dim("n")
    x = te.placeholder((n,), "float32", "x")
    y = te.compute((n,), lambda i: x[i] + 1.0, "y")
    schedule = create_schedule([y])
    stage = schedule[y]
    vectors, lane = stage.split(stage.axes[0], 8)
    stage.unroll(stage.split(vectors, 4)[1])
    stage.vectorize(lane)
    found: list[tuple[str, str]] = []
    run_phases(lower(schedule, [x], [y], "f"), lambda name, func: found.append((name, str(func))))
    assert dict(found)["loop_partition"].split("\n", 1)[1].rstrip() == (
        "    for i_o_o in range(n // 32):\n"
        "        unrolled for i_o_i in range(4):\n"
        "            vectorized for i_i in range(8):\n"
        "                y[i_o_o * 32 + i_o_i * 8 + i_i] = x[i_o_o * 32 + i_o_i * 8 + i_i] + 1.0\n"
        "    if n // 32 < (n + 31) // 32:\n"
        "        for i_o_i in range((n + 7) // 8 - n // 32 * 4):\n"
        "            vectorized for i_i in range(8):\n"
        "                if n // 32 * 32 + i_o_i * 8 + i_i < n:\n"
        "                    y[n // 32 * 32 + i_o_i * 8 + i_i] = x[n // 32 * 32 + i_o_i * 8 + i_i] + 1.0"
    )


def test_of_an_extent_that_may_be_cut_off_at_0_one_iteration_is_left() -> None:
    """As of the windows of a pool: their number is no less than 0, whatever the extent of what is pooled."""
    n = rt.dim("n")
    size = maximum((n + 1) // 2 - 1, 0)
    o, i = Var(INDEX, "o"), Var(INDEX, "i")
    x, y = (Buffer(name, (64,), DType("float32")) for name in "xy")
    store = Store(y, (o * 16 + i,), select(lt(o * 32 + i * 2, n), Load(y.dtype, x, (o * 16 + i,)), 0.0))
    lane = For(i, ZERO, const(16, INDEX), ForKind.VECTORIZED, If(lt(o * 16 + i, (n + 1) // 2 - 1), store))
    made = loop_partition(PrimFunc("f", (), (), For(o, ZERO, (size + 15) // 16, ForKind.SERIAL, lane)))
    assert stmt_text(made.body) == (
        "for o in range(max((n + 31) // 32 - 1, 0)):\n"
        "    vectorized for i in range(16):\n"
        "        y[o * 16 + i] = x[o * 16 + i] if True else 0.0\n"
        "if max((n + 31) // 32 - 1, 0) < (max((n + 1) // 2 - 1, 0) + 15) // 16:\n"
        "    vectorized for i in range(16):\n"
        "        if max((n + 31) // 32 - 1, 0) * 16 + i < (n + 1) // 2 - 1:\n"
        "            y[max((n + 31) // 32 - 1, 0) * 16 + i] = x[max((n + 31) // 32 - 1, 0) * 16 + i]"
        " if max((n + 31) // 32 - 1, 0) * 32 + i * 2 < n else 0.0\n"
    )


def test_strides_are_polynomials_of_dims() -> None:
    n, m = rt.dim("n"), rt.dim("m")
    i, j, k = (Var(INDEX, name) for name in "ijk")
    analyzer = Analyzer()
    found, entangled = analyzer.coefficients((i * n + j) * m + k // 2 + i * j)
    shown = {var.name: str(analyzer.expression(factor)) for var, factor in found.items()}
    assert shown == {"i": "n * m", "j": "m"}
    assert {var.name for var in entangled} == {"i", "j", "k"}
