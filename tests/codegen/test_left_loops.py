"""Loops that are left where their condition fails, and loops that LLVM makes no vectors of."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

from opgen_runtime.base import arith
from opgen_runtime.base.arith import Expr, Var, const
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import FLOAT32, INDEX, INT64
from opgen_runtime.codegen import emit
from opgen_runtime.lower.tir.nodes.stmt import Block, Buffer, For, ForKind, If, Load, PrimFunc, Stmt, Store
from tests.codegen.conftest import finished

ZERO = const(0, INDEX)
STEP = Var(INDEX, "step")


@pytest.mark.parametrize(("most", "done"), [(3, 3), (10**15, 9)])
def test_a_loop_is_left_where_no_iteration_does_anything(
    build: SimpleNamespace, most: int, done: int
) -> None:
    """while count[0] < 9 and at_most(most): count[0] += 1"""
    count = Buffer("count", (1,), INT64)
    now = Load(INT64, count, (ZERO,))
    more = Store(count, (ZERO,), arith.add(now, const(1, INT64)))
    loop = For(STEP, ZERO, const(most, INDEX), ForKind.SERIAL, If(arith.lt(now, const(9, INT64)), more))
    start = Store(count, (ZERO,), const(0, INT64))
    (out,) = build.run(finished(PrimFunc("kernel", (), (count,), Block((start, loop)))), [])
    np.testing.assert_array_equal(out, [done])


def test_a_loop_whose_condition_counts_is_not_left(build: SimpleNamespace) -> None:
    """for i in range(9): if i % 2 == 1: out[i] = 1"""
    out = Buffer("out", (9,), FLOAT32)
    odd = arith.eq(arith.floormod(STEP, 2), ZERO + 1)
    body = If(odd, Store(out, (STEP,), const(1, FLOAT32)))
    zeros = For(STEP, ZERO, const(9, INDEX), ForKind.SERIAL, Store(out, (STEP,), const(0, FLOAT32)))
    loop = For(STEP, ZERO, const(9, INDEX), ForKind.SERIAL, body)
    (found,) = build.run(finished(PrimFunc("kernel", (), (out,), Block((zeros, loop)))), [])
    np.testing.assert_array_equal(found, [0, 1] * 4 + [0])


def no_vectors(at: Expr, value: Expr, *inputs: Buffer) -> bool:
    """Whether LLVM is told to make no vectors of a loop that stores `value` at `at`."""
    out = Buffer("out", (64,), FLOAT32)
    loop: Stmt = For(STEP, ZERO, const(64, INDEX), ForKind.SERIAL, Store(out, (at,), value))
    text = emit(PrimFunc("kernel", inputs, (out,), loop), Target.host())
    return re.search(r"llvm\.loop\.vectorize\.enable", str(text)) is not None


def test_vectors_of_stores_at_positions_that_are_read() -> None:
    x, place = Buffer("x", (64,), FLOAT32), Buffer("place", (64,), INT64)
    element = Load(FLOAT32, x, (STEP,))
    at = arith.cast(Load(INT64, place, (STEP,)), INDEX)
    assert no_vectors(at, element, x, place)
    assert not no_vectors(STEP, element, x)
    much = arith.call("tanh", arith.call("exp", element))
    assert not no_vectors(at, much, x, place)  # which vectors compute faster than they store it
