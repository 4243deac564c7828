"""Quick proofs of accesses are right, and see what most accesses are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime.base.arith import (
    CONSTRUCTORS,
    Expr,
    Var,
    add,
    cast,
    const,
    evaluate_scalar,
    floordiv,
    floormod,
    ge,
    is_inside,
    logical_and,
    logical_not,
    lt,
    maximum,
    minimum,
    mul,
    select,
    sub,
)
from opgen_runtime.base.vocabulary import INDEX, INT64

X, J, K = (Var(INDEX, name) for name in "xjk")
EXTENTS = {X: 3, J: 4, K: 2}


def constants(least: int, most: int) -> st.SearchStrategy[Expr]:
    return st.integers(least, most).map(lambda value: const(value, INDEX))


def larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    plain = st.builds(
        lambda op, a, b: CONSTRUCTORS[op](a, b), st.sampled_from(["add", "sub", "min", "max"]), inner, inner
    )
    scaled = st.builds(
        lambda op, a, b: CONSTRUCTORS[op](a, b),
        st.sampled_from(["mul", "floordiv", "floormod"]),
        inner,
        constants(-2, 3),
    )
    chosen = st.builds(lambda a, b, c, d: select(lt(a, b), c, d), inner, inner, inner, inner)
    return plain | scaled | chosen | st.builds(lambda a: cast(cast(a, INT64), INDEX), inner)


INDICES = st.recursive(st.sampled_from([X, J, K]) | constants(-3, 5), larger, max_leaves=6)
PARTS = st.builds(
    lambda op, a, b: CONSTRUCTORS[op](a, b),
    st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]),
    INDICES,
    INDICES,
)
FACTS = st.lists(PARTS | st.builds(logical_and, PARTS, PARTS) | PARTS.map(logical_not), max_size=2)


@settings(max_examples=300)
@given(INDICES, st.integers(0, 12), FACTS)
def test_what_is_seen_to_be_inside_is(index: Expr, extent: int, facts: Sequence[Expr]) -> None:
    if not is_inside(index, extent, EXTENTS, facts):
        return
    for values in product(*(range(extent) for extent in EXTENTS.values())):
        where = dict(zip(EXTENTS, values, strict=True))
        if all(evaluate_scalar(fact, where) for fact in facts):
            assert 0 <= evaluate_scalar(index, where) < extent


PADDED = sub(add(mul(X, 2), J), 1)


@pytest.mark.parametrize(
    ("index", "extent", "facts"),
    [
        (add(mul(X, 2), J), 8, []),
        (PADDED, 5, [logical_and(ge(PADDED, 0), lt(PADDED, 5))]),
        (PADDED, 5, [lt(sub(add(mul(X, 2), J), 1), 5), logical_not(lt(PADDED, 0))]),
        (sub(PADDED, 2), 5, [ge(PADDED, 2)]),
        (minimum(maximum(sub(X, 1), 0), 2), 2, []),
        (add(mul(floordiv(J, 2), 2), floormod(J, 2)), 4, []),
        (select(lt(X, 1), J, 3), 4, []),
        (cast(cast(add(X, J), INT64), INDEX), 6, []),
    ],
    ids=["sum", "guarded", "guarded apart", "guarded elsewhere", "clipped", "digits", "chosen", "cast"],
)  # fmt: skip
def test_the_usual_index_is_seen_to_be_inside(index: Expr, extent: int, facts: Sequence[Expr]) -> None:
    assert is_inside(index, extent, EXTENTS, facts)
    assert not is_inside(index, extent - 1, EXTENTS, [])


def test_deep_and_shared_expressions_take_linear_work() -> None:
    deep: Expr = X
    for _ in range(5000):
        deep = maximum(add(deep, 1), J)
    assert not is_inside(deep, 1 << 20, EXTENTS, [])
    shared: Expr = X
    for _ in range(30):
        shared = minimum(add(shared, shared), 2)
    assert is_inside(shared, 3, EXTENTS, [])
