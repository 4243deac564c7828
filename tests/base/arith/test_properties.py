"""Laws, on random expressions: a proof is never wrong, ranges hold every value, simplification keeps values."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime.base import arith
from opgen_runtime.base.arith import (
    Analyzer,
    Expr,
    Table,
    Var,
    const,
    evaluate_scalar,
    free_vars,
    logical_and,
    logical_not,
    logical_or,
    post_order,
    rewrite,
    select,
    structural_equal,
    structural_hash,
    substitute,
)
from opgen_runtime.base.vocabulary import INDEX, INT8, INT64

N, M = arith.dim("n"), arith.dim("m")
ROW, COL, TAP = (Var(INDEX, name) for name in "ijk")
V = Var(INT8, "v")  # an element value: any int8, whose arithmetic wraps
W = Var(INT64, "w")
VARS = (N, M, ROW, COL, TAP)

LEAVES = st.sampled_from((*VARS, N, ROW, COL)) | st.integers(-4, 9).map(lambda c: const(c, INDEX))
BINARY = st.sampled_from(
    [arith.add, arith.sub, arith.mul, arith.floordiv, arith.floormod, arith.minimum, arith.maximum]
)
BY_CONSTANT = st.sampled_from([arith.floordiv, arith.floormod, arith.truncdiv, arith.truncmod, arith.mul])
COMPARE = st.sampled_from([arith.lt, arith.le, arith.gt, arith.ge, arith.eq, arith.ne])


def table(index: Expr, values: list[int]) -> Expr:
    return Table(INDEX, tuple(values), index % len(values))


def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    condition = st.builds(lambda f, a, b: f(a, b), COMPARE, inner, inner)
    small = st.integers(0, 6)
    return (
        st.builds(lambda f, a, b: f(a, b), BINARY, inner, inner)
        | st.builds(lambda f, a, c: f(a, c), BY_CONSTANT, inner, small)
        | st.builds(select, condition, inner, inner)
        | st.builds(table, inner, st.lists(small, min_size=1, max_size=4))
        | st.builds(lambda a: arith.call("abs", a), inner)
        | st.builds(lambda a, c: arith.bit_and(a, c), inner, small)
    )  # fmt: skip


EXPRESSIONS = st.recursive(LEAVES, grow, max_leaves=7)
NARROW = st.recursive(
    st.just(V) | st.integers(-4, 9).map(lambda c: const(c, INT8)),
    lambda inner: st.builds(
        lambda f, a, b: f(a, b),
        st.sampled_from([arith.add, arith.sub, arith.mul, arith.minimum]),
        inner,
        inner,
    ),
    max_leaves=4,
)
ELEMENTS = st.builds(lambda a, e: arith.cast(a, INDEX) + e, NARROW, EXPRESSIONS)
ANY = EXPRESSIONS | ELEMENTS


def grow_condition(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return (
        st.builds(logical_and, inner, inner)
        | st.builds(logical_or, inner, inner)
        | st.builds(logical_not, inner)
        | st.builds(select, inner, inner, inner)
    )


CONDITIONS = st.recursive(st.builds(lambda f, a, b: f(a, b), COMPARE, ANY, ANY), grow_condition, max_leaves=3)
SAMPLES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 5), *([st.integers(0, 6)] * 3), st.integers(-128, 127)),
    min_size=4,
    max_size=12,
)
Values = dict[Var, int]


def points(samples: list[tuple[int, ...]], nested: bool) -> list[Values]:
    """Points of the domain i < n, j < m (or j < i + 1), k < 4; v is any int8."""
    exhaustive = [(n, m, i, j, 1, -128) for n, m, i, j in product((1, 2, 3), (1, 2, 4), (0, 1, 2), (0, 1, 3))]
    found = []
    for n, m, i, j, k, v in [*samples, *exhaustive]:
        if i < n and k < 4 and j < (i + 1 if nested else m):
            found.append(dict(zip((*VARS, V), (n, m, i, j, k, v), strict=True)))
    return found


def analyzer(nested: bool) -> Analyzer:
    a = Analyzer()
    a.bind(ROW, 0, N)
    a.bind(COL, 0, ROW + 1 if nested else M)
    a.bind(TAP, 0, 4)
    return a


@given(ANY, SAMPLES, st.booleans())
@settings(max_examples=300)
def test_simplify_keeps_values_and_ranges_hold_them(
    e: Expr, samples: list[tuple[int, ...]], nested: bool
) -> None:
    a = analyzer(nested)
    simple = a.simplify(e)
    span = a.interval(e)
    for values in points(samples, nested):
        expected = evaluate_scalar(e, values)
        assert evaluate_scalar(simple, values) == expected
        assert span.contains(int(expected))


@given(CONDITIONS, CONDITIONS, SAMPLES, st.booleans())
@settings(max_examples=400)
def test_a_proof_is_never_wrong(
    guard: Expr, goal: Expr, samples: list[tuple[int, ...]], nested: bool
) -> None:
    a = analyzer(nested)
    with a.assume(guard):
        proved = a.prove(goal)
        refuted = a.prove(logical_not(goal))
        simple = a.simplify(goal)
    for values in points(samples, nested):
        if evaluate_scalar(guard, values):
            truth = evaluate_scalar(goal, values)
            assert truth or not proved
            assert not (truth and refuted)
            assert evaluate_scalar(simple, values) == truth


@given(ANY)
@settings(max_examples=200)
def test_structure(e: Expr) -> None:
    fresh = {v: Var(v.dtype, v.name, v.size) for v in free_vars(e)}
    renamed = substitute(e, dict(fresh))
    assert structural_equal(e, renamed, map_vars=True)
    assert structural_hash(e) == structural_hash(renamed)
    assert structural_equal(e, renamed) == (not fresh)
    assert rewrite(e, lambda node: None) is e
    assert len({id(n) for n in post_order(e)}) == len(post_order(e))
