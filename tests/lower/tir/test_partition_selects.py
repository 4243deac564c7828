"""Loops that choose by how far they have come are split where the choice changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops, te
from opgen_runtime.base.arith import Expr, Var, const, lt, select, to_text
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import FLOAT32, INDEX
from opgen_runtime.lower import tir
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.tir.analysis.canonical import simplified
from opgen_runtime.lower.tir.nodes.stmt import For, ForKind, Load, Stmt
from opgen_runtime.lower.tir.nodes.text import stmt_text
from opgen_runtime.lower.tir.nodes.visit import statements, trips
from opgen_runtime.lower.tir.phases.partition_selects import partition_selects

POSITION = Var(INDEX, "i")
A, B, Y = (tir.Buffer(name, (4096,), FLOAT32) for name in "aby")


def apart(stmt: Stmt) -> Stmt:
    """The statement after the phase."""
    return partition_selects(tir.PrimFunc("kernel", (), (), stmt)).body


def joined(i: Expr, at: int) -> Expr:
    """`at` elements of a, and those of b behind them."""
    return select(lt(i, at), tir.load(A, i), select(i >= at, tir.load(B, i - at), const(0.0, FLOAT32)))


def vectors(count: int, at: int, first: Expr | int = 0) -> Stmt:
    """So many vectors of 16 elements."""

    def vector(o: Var, v: Var) -> Stmt:
        i = first + o * 16 + v
        return tir.store(Y, (i,), joined(i, at))

    return tir.loop("o", count, lambda o: tir.loop("v", 16, lambda v: vector(o, v), "vectorized"))


def shared(name: str, extent: int, body: Callable[[Var], Stmt]) -> Stmt:
    """A loop of several threads."""
    made = tir.loop(name, extent, body)
    assert isinstance(made, For)
    return replace(made, kind=ForKind.PARALLEL)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (lt(POSITION // 3, 5), "i < 15"),
        (lt(POSITION // 3 // 2, 5), "i < 30"),
        (POSITION // 3 > 5, "i >= 18"),
        (lt(5, POSITION // 3), "i >= 18"),
        (POSITION // 3 <= 5, "i < 18"),
        (lt(POSITION % 3, 2), "i % 3 < 2"),
    ],
    ids=str,
)
def test_quotients_are_compared_as_what_is_divided(condition: Expr, expected: str) -> None:
    assert to_text(simplified(condition, {POSITION: 1000})) == expected


def split(stmt: Stmt) -> str:
    return stmt_text(apart(stmt)).strip()


JOINED = """\
for o in range(2):
    vectorized for v in range(16):
        y[o * 16 + v] = a[o * 16 + v]
vectorized for v in range(16):
    y[v + 32] = a[v + 32] if v + 32 < 40 else b[v - 8] if v + 32 >= 40 else 0.0
for o in range(3):
    vectorized for v in range(16):
        y[(o + 3) * 16 + v] = b[(o + 3) * 16 + v - 40]
"""


def test_the_vector_in_which_the_choice_changes_is_set_apart() -> None:
    assert split(vectors(6, 40)) == JOINED.strip()


SHARED = """\
parallel for p in range(8):
    piece = min(max(10 - p * 4, 0), 4)
    for o in range(piece):
        vectorized for v in range(16):
            y[p * 64 + o * 16 + v] = a[p * 64 + o * 16 + v]
    for o in range(4 - piece):
        vectorized for v in range(16):
            y[p * 64 + (o + piece) * 16 + v] = b[p * 64 + (o + piece) * 16 + v - 160]
"""


def test_a_part_of_a_shared_loop_finds_its_own_place() -> None:
    assert split(shared("p", 8, lambda p: vectors(4, 160, p * 64))) == SHARED.strip()


ROWS = """\
parallel for c in range(8):
    if c < 5:
        for o in range(64):
            y[c * 64 + o] = a[c * 64 + o]
    else:
        for o in range(64):
            y[c * 64 + o] = b[c * 64 + o - 320]
"""


def test_what_a_loop_does_not_decide_is_decided_outside() -> None:
    def row(c: Var, o: Var) -> Stmt:
        i = c * 64 + o
        behind = select(c >= 5, tir.load(B, i - 320), const(0.0, FLOAT32))
        return tir.store(Y, (i,), select(lt(c, 5), tir.load(A, i), behind))

    stmt = shared("c", 8, lambda c: tir.loop("o", 64, lambda o: row(c, o)))
    assert split(stmt) == ROWS.strip()


def test_short_loops_and_sums_and_what_data_decides_stay() -> None:
    def by_data(o: Var) -> Stmt:
        value = tir.load(A, o)
        return tir.store(Y, (o,), select(lt(value, 0.0), value, const(0.0, FLOAT32)))

    def summed(o: Var) -> Stmt:
        total = Load(FLOAT32, Y, (const(0, o.dtype),))
        return tir.store(Y, (const(0, o.dtype),), total + joined(o, 20))

    for stmt in (
        tir.loop("o", 16, lambda o: tir.store(Y, (o,), joined(o, 8))),
        tir.loop("o", 64, by_data),
        tir.loop("o", 64, summed),
    ):
        assert apart(stmt) is stmt


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sizes", [(40, 24), (7, 33, 1), (64,) * 3])
def test_joined_arrays(axis: int, sizes: tuple[int, ...]) -> None:
    shapes = [(*(6, 10, 50)[:axis], size, *(6, 10, 50)[axis + 1 :]) for size in sizes]
    parts = [np.random.default_rng(n).random(shape, np.float32) for n, shape in enumerate(shapes)]
    made = rt.jit(lambda *each: ops.concatenate(list(each), axis=axis))(*parts)
    np.testing.assert_array_equal(made, np.concatenate(parts, axis))


def test_bits_of_joined_arrays() -> None:
    """The complement of an int is no negation."""
    parts = [np.arange(n, dtype=np.uint8) for n in (400, 240)]
    made = rt.jit(lambda *each: ops.bitwise_not(ops.concatenate(list(each), axis=0)))(*parts)
    np.testing.assert_array_equal(made, ~np.concatenate(parts))


def test_a_joined_axis_and_those_behind_it_are_one_line() -> None:
    x, y = (te.placeholder((4, size, 7, 9), name=name) for name, size in (("X", 12), ("Y", 20)))

    def element(n: Var, c: Var, h: Var, w: Var) -> Expr:
        return select(lt(c, 12), x[n, c, h, w], select(c >= 12, y[n, c - 12, h, w], 0.0))

    out = te.compute((4, 32, 7, 9), element, name="C")
    schedule = generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    func = tir.lower(schedule, [x, y], [out], "kernel")
    loops = [each for each in statements(tir.run_phases(func).body) if isinstance(each, For)]
    assert [trips(each) for each in loops] == [
        4,
        23,
        39,
    ]  # 756 and 1260 elements of a line, two vectors at once


def test_a_constant_limit_beside_an_open_one() -> None:
    """The first vector alone asks where the padding ends."""
    n = rt.dim("n")
    x = te.placeholder((n,), "float32", "x")
    y = te.compute(
        (n + 5,),
        lambda i: te.if_then_else(te.all(i >= 3, i < n + 3), x[i - 3], te.const(0.0, "float32")),
        "y",
    )
    schedule = te.create_schedule(y)
    schedule[y].vectorize(schedule[y].split(schedule[y].axes[0], 8)[1])
    found: list[tuple[str, str]] = []
    tir.run_phases(tir.lower(schedule, [x], [y], "f"), lambda name, func: found.append((name, str(func))))
    assert dict(found)["partition_selects"].split("\n", 1)[1].split("        for i_o in range((n + 5)")[
        0
    ] == (
        "    piece = (n + 3) // 8:\n"
        "        piece_1 = (n + 5) // 8\n"
        "        piece_2 = min(1, piece):\n"
        "            for i_o in range(piece_2):\n"
        "                vectorized for i_i in range(8):\n"
        "                    y[i_o * 8 + i_i] = x[i_o * 8 + i_i - 3] if i_o * 8 + i_i >= 3 else 0.0\n"
        "            for i_o in range(piece - piece_2):\n"
        "                vectorized for i_i in range(8):\n"
        "                    y[(i_o + piece_2) * 8 + i_i] = x[(i_o + piece_2) * 8 + i_i - 3]\n"
        "        for i_o in range(piece_1 - piece):\n"
        "            vectorized for i_i in range(8):\n"
        "                y[(i_o + piece) * 8 + i_i] = x[(i_o + piece) * 8 + i_i - 3] "
        "if ((i_o + piece) * 8 + i_i >= 3) & ((i_o + piece) * 8 + i_i < n + 3) else 0.0\n"
    )
