"""Loops that go step by step over one range become one, where every step reads what it read before."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime.base.arith import Expr, Var, const, lt, ne
from opgen_runtime.base.vocabulary import INDEX, DType
from opgen_runtime.lower import tir
from opgen_runtime.lower.tir.nodes.stmt import Stmt
from opgen_runtime.lower.tir.nodes.text import stmt_text
from opgen_runtime.lower.tir.phases.loop_fusion import loop_fusion

I64 = DType("int64")
N = 6
X, A, B, C = (tir.Buffer(name, (24,), I64) for name in "xabc")


def running(i: Var) -> Stmt:
    """Each step waits for the one before."""
    return tir.store(A, (i + 9,), tir.load(A, i + 8) + tir.load(X, i))


def placed(i: Var, ahead: int = 0) -> Stmt:
    """Stored where data say."""
    return tir.store(B, (tir.load(X, i),), tir.load(A, i + 9 + ahead))


def fused(*loops: Stmt) -> int:
    """How many loops are left."""
    func = tir.PrimFunc("f", (X,), (A, B, C), tir.block(*loops))
    return stmt_text(loop_fusion(func).body).count("for ")


def test_what_is_stored_for_the_same_step_or_before_is_read_there() -> None:
    for ahead in (0, -1, -4):
        second = partial(placed, ahead=ahead)
        assert fused(tir.loop("i", N, running), tir.loop("j", N, second)) == 1
    func = tir.PrimFunc(
        "f",
        (X,),
        (A, B),
        tir.block(tir.loop("i", N, running), tir.loop("j", N, placed), tir.loop("k", N, placed)),
    )
    assert stmt_text(loop_fusion(func).body) == (
        "for i in range(6):\n    a[i + 9] = a[i + 8] + x[i]\n    b[x[i]] = a[i + 9]\n"
        "for k in range(6):\n    b[x[k]] = a[k + 9]\n"
    )


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(lambda j: placed(j, 1), id="read ahead"),
        pytest.param(
            lambda j: tir.store(A, (tir.load(X, j),), tir.load(A, j)), id="stores what the first stores"
        ),
        pytest.param(lambda j: tir.store(X, (j,), tir.load(X, j) + 1), id="stores what the first reads"),
        pytest.param(lambda j: tir.store(B, (j,), tir.load(A, j)), id="runs in vectors"),
        pytest.param(
            lambda j: tir.store(B, (tir.load(A, tir.load(X, j)),), tir.load(X, j)), id="read anywhere"
        ),
    ],
)
def test_others_stay_apart(second) -> None:
    assert fused(tir.loop("i", N, running), tir.loop("j", N, second)) == 2


def test_other_ranges_stay_apart() -> None:
    assert fused(tir.loop("i", N, running), tir.loop("j", N - 1, placed)) == 2
    assert fused(tir.loop("i", N, running, "unrolled"), tir.loop("j", N, placed)) == 2


def test_a_loop_that_ends_early_stays_by_itself() -> None:
    def until(j: Var) -> Stmt:
        return tir.If(lt(tir.load(C, const(0, INDEX)), 3), tir.store(C, (tir.load(X, j),), tir.load(X, j)))

    assert fused(tir.loop("i", N, running), tir.loop("j", N, until)) == 2


@st.composite
def steps(draw: st.DrawFn) -> tuple[int, ...]:
    """A step of a loop: what it stores to, what it reads, where each of them is."""
    return tuple(draw(st.integers(0, most)) for most in (2, 3, 3, 2, 2, 3, 1))


def step(i: Var, form: tuple[int, ...]) -> Stmt:
    target, source, shape, first, second, kind, guarded = form
    buffer, other = (A, B, C)[target], (A, B, C, X)[source]
    places: list[Expr] = [i + 9 + first, i * 2 + first, const(9, INDEX) - i, tir.load(X, i)]
    value = tir.load(other, i + 8 + second) + tir.load(buffer, places[kind]) * 3 + tir.load(X, i)
    made = tir.store(buffer, (places[shape],), value)
    return tir.If(ne(tir.load(X, i + 1) % 2, 0), made) if guarded else made


@given(st.lists(steps(), min_size=2, max_size=4), st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_results_stay(forms: list[tuple[int, ...]], seed: int) -> None:
    def filled(k: Var) -> Stmt:
        return tir.block(*[tir.store(b, (k,), k * 7 + n) for n, b in enumerate((A, B, C))])

    loops = [tir.loop(f"i{n}", N, lambda i, form=form: step(i, form)) for n, form in enumerate(forms)]
    func = tir.PrimFunc("f", (X,), (A, B, C), tir.block(tir.loop("k", 24, filled), *loops))
    x = np.random.default_rng(seed).integers(0, 20, 24)
    for one, other in zip(tir.interpret(func, [x]), tir.interpret(loop_fusion(func), [x]), strict=True):
        np.testing.assert_array_equal(one, other)
