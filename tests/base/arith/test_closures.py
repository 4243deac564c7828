"""Closures give what `evaluate_scalar` does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgen_runtime.base.arith import (
    Expr,
    closure,
    const,
    dim,
    eq,
    evaluate_scalar,
    le,
    maximum,
    minimum,
    select,
)
from opgen_runtime.base.errors import LoweringError
from opgen_runtime.base.vocabulary import INDEX

N, M = dim("n"), dim("m")
LEAVES = st.one_of(st.sampled_from([N, M]), st.integers(-9, 9).map(lambda value: const(value, INDEX)))


def combined(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    pairs = st.tuples(inner, inner)
    makers = [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a // b,
        lambda a, b: a % b,
        minimum,
        maximum,
        lambda a, b: select(le(a, b), a, b + 1),
        lambda a, b: select(eq(a, b), b, a),
    ]
    return st.tuples(st.sampled_from(makers), pairs).map(lambda drawn: drawn[0](*drawn[1]))


EXPRS = st.recursive(LEAVES, combined, max_leaves=12)


@given(st.lists(EXPRS, max_size=3), st.integers(-50, 50), st.integers(-50, 50))
def test_values_are_those_of_the_reference(exprs: list[Expr], n: int, m: int) -> None:
    wanted = tuple([evaluate_scalar(e, {N: n, M: m}) for e in exprs])
    if all([abs(int(value)) < 1 << 31 for value in wanted]):
        assert closure(exprs, [N, M])(n, m) == wanted


def test_what_several_share_is_computed_once() -> None:
    shared = (N + M) * 2
    found = closure([shared, shared + 1, 7], [N, M])
    assert found(3, 4) == (14, 15, 7)
    assert found.__code__.co_nlocals == 2 + 3  # the sum, its double, and that plus 1


def test_a_variable_that_is_not_given_is_refused() -> None:
    with pytest.raises(LoweringError, match="cannot evaluate the var m"):
        closure([N + M], [N])
