"""Reductions under congruences: as many steps are made as count, and what is spread is stored in vectors."""

from __future__ import annotations

import pytest

from opgen_runtime import te
from opgen_runtime.base.target import Target
from opgen_runtime.lower import tir
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.tir.nodes.stmt import For, If
from opgen_runtime.lower.tir.nodes.visit import statements

X, W = te.placeholder((40, 16), name="X"), te.placeholder((3, 16), name="W")


def test_a_transposed_convolution() -> None:
    k, c = te.reduce_axis((0, 3), name="k"), te.reduce_axis((0, 16), name="c")

    def spread(y: te.Var) -> te.Expr:
        return te.sum(X[(y - k) // 2, c] * W[k, c], axis=(k, c), where=te.equal((y + k) % 2, 0))

    out = te.compute((64,), spread, name="C")
    assert str(generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))) == SCHEDULE


@pytest.mark.parametrize(
    ("stride", "padding", "read", "tap"),
    [
        (2, 0, "X[y_q - k]", "W[y_r + k * 2]"),
        (2, 1, "X[y_r + y_q - k]", "W[k * 2 - y_r + 1]"),
        (3, 0, "X[y_q - k]", "W[y_r + k * 3]"),
        (3, 1, "X[y_q + (y_r - (y_r + 1) % 3 + 1) // 3 - k]", "W[k * 3 + (y_r + 1) % 3]"),
    ],
)
def test_positions_of_residues_are_straight_where_they_can_be(
    stride: int, padding: int, read: str, tap: str
) -> None:
    """What does not depend on the residue is packed once for all; three residues with a padding lie on no line."""
    data, weights, k = (
        te.placeholder((40,), name="X"),
        te.placeholder((5,), name="W"),
        te.reduce_axis((0, 5), name="k"),
    )

    def spread(y: te.Var) -> te.Expr:
        place = y + padding - k
        return te.sum(data[place // stride] * weights[k], axis=k, where=te.equal(place % stride, 0))

    out = te.compute((60,), spread, name="C")
    text = str(generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")))
    assert f"sum({read} * {tap} for k" in text


def test_what_is_never_met_and_what_cannot_be_solved_stay() -> None:
    k = te.reduce_axis((0, 3), name="k")
    for condition in (lambda y: te.equal((2 * y + 4 * k) % 2, 0), lambda y: te.equal(k * k % 2, y)):
        out = te.compute(
            (8,), lambda y, where=condition: te.sum(X[y + k, 0], axis=k, where=where(y)), name="C"
        )
        assert "divide" not in str(generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")))


def test_no_step_of_a_contraction_is_made_for_a_residue_that_does_not_count() -> None:
    """Three taps under a stride of two: one residue has two, the other one; none of its 16 sums is made for nothing."""
    data, weights = te.placeholder((40, 16), name="X"), te.placeholder((3, 16, 24), name="W")
    k, c = te.reduce_axis((0, 3), name="k"), te.reduce_axis((0, 16), name="c")

    def spread(o: te.Var, y: te.Var) -> te.Expr:
        product = data[(y - k) // 2, c] * weights[k, c, o]
        return te.sum(product, axis=(k, c), where=te.equal((y + k) % 2, 0))

    out = te.compute((24, 64), spread, name="C")
    schedule = generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    func = tir.lower(schedule, [data, weights], [out], "kernel")
    loops = {s.var.name: s for s in statements(func.body) if isinstance(s, For) and s.var.name in "kc"}
    assert isinstance(loops["k"].body, If)
    assert loops["c"] in statements(loops["k"].body.then)
    assert not any(isinstance(s, If) for s in statements(loops["c"]))


SCHEDULE = """\
X: float32[40, 16], input
W: float32[3, 16], input
C_divided: float32[2, 32], divide of C, root, global
    y_r     2
    y_q_o   8                     y_q // 4
    k       2  reduce
    y_q_i   4  unrolled           y_q % 4
    c      16  reduce vectorized
    C_divided[y_r, y_q] = sum(X[y_q - k, c] * W[y_r + k * 2, c] for k in range(2) for c in range(16) if y_r + k * 2 < 3)
    reordered from y_r, y_q_o, y_q_i, k, c
C: float32[64], output
    y_o_o   2              y // 2 // 16
    y_i     2  unrolled    y % 2
    y_o_i  16  vectorized  y // 2 % 16
    C[y] = C_divided[y % 2, y // 2]
    reordered from y_o_o, y_o_i, y_i\
"""
