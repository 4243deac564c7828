"""What is kept of analyzers' answers is what a fresh one says."""

from __future__ import annotations

import random

from opgen_runtime.base.arith import (
    Analyzer,
    Expr,
    Var,
    const,
    dim,
    eq,
    floordiv,
    le,
    logical_not,
    logical_or,
    lt,
    maximum,
    structural_equal,
)
from opgen_runtime.base.vocabulary import INDEX
from opgen_runtime.operator.types.recall import decided, simplified, told


def made(chooser: random.Random, dims: list[Var], depth: int) -> Expr:
    if depth == 0:
        return chooser.choice([*dims, const(chooser.randrange(4), INDEX)])
    a, b = made(chooser, dims, depth - 1), made(chooser, dims, depth - 1)
    return chooser.choice([a + b, a - b, a * 2, floordiv(a, const(2, INDEX)), maximum(a, b)])


def test_the_answers_are_those_of_a_fresh_analyzer() -> None:
    for seed in range(60):
        dims = [dim("n"), dim("m")]  # others of the same names each time
        for _ in range(2):  # once found, once recalled
            chooser = random.Random(seed % 20)
            e, other = made(chooser, dims, 2), made(chooser, dims, 1)
            assert structural_equal(simplified(e), Analyzer().simplify(e))
            for condition in (le(e, other), logical_or(eq(e, other), le(other, const(-1, INDEX)))):
                proved, refuted = Analyzer().prove(condition), Analyzer().prove(logical_not(condition))
                assert decided(condition) is (True if proved else False if refuted else None)


def test_what_is_told_is_what_a_fresh_analyzer_says() -> None:
    n, m = dim("n"), dim("m")
    for _ in range(2):
        for condition in (le(0, n), lt(n, 0), le(n, m), le(n + 2 - 1, m + n), eq(n + m - m, n)):
            assert structural_equal(told(condition), Analyzer().simplify(condition))
    open_, simpler = le(n, m), le(n + 2 - 1, m + n)
    assert told(open_) is open_
    assert told(simpler) is not told(simpler)  # what is built on is nobody else's


def test_dims_of_one_name_are_not_taken_for_each_other() -> None:
    n, other = dim("n"), dim("n")
    assert decided(eq(n, n)) is True
    assert decided(eq(n, other)) is None
    assert structural_equal(simplified(n + other - n), other)
    assert structural_equal(simplified(other + n - other), n)
