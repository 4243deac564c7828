"""Proofs of the accesses that compute expressions make, and simplification."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from opgen_runtime.base.arith import (
    Analyzer,
    Expr,
    Interval,
    Table,
    Var,
    cast,
    const,
    detect_linear_equation,
    dim,
    eq,
    ge,
    gt,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    maximum,
    minimum,
    ne,
    select,
    to_text,
)
from opgen_runtime.base.vocabulary import INDEX, UINT32, UINT64
from opgen_runtime.compute.te import placeholder, read

N, M, A, B, C = (dim(name) for name in "nmabc")


def var(name: str) -> Var:
    return Var(INDEX, name)


def inside(index: Expr, size: int | Expr) -> Expr:
    return logical_and(le(0, index), lt(index, size))


def analyzer(*bounds: tuple[Var, int | Expr]) -> Analyzer:
    found = Analyzer()
    for v, extent in bounds:
        found.bind(v, 0, extent)
    return found


i, j, k, f = (var(name) for name in "ijkf")


def test_ravel_and_unravel() -> None:
    a = analyzer((i, N), (j, M))
    assert a.prove(inside(i * M + j, N * M))
    assert not a.prove(inside(i * N + j, N * M))
    a = analyzer((f, A * B * C))
    for index, size in ((f // (B * C), A), (f // C % B, B), (f % C, C)):
        assert a.prove(inside(index, size))
    assert not a.prove(inside(f // B, A))
    assert to_text(a.simplify(f // (B * C) * (B * C) + f // C % B * C + f % C)) == "f"


def test_reshape_between_symbolic_shapes() -> None:
    a = analyzer((i, N), (j, M))
    flat = i * M + j
    assert not a.prove(inside(flat // B, A))
    with a.assume(eq(N * M, A * B)):
        assert a.prove(inside(flat // B, A))
        assert a.prove(inside(flat % B, B))
    assert not a.prove(inside(flat // B, A))


def test_windows_under_guards() -> None:
    a = analyzer((i, N), (k, 3))
    index = i * 2 + k * 2 - 1
    with a.assume(le(0, index)):
        assert not a.prove(inside(index, M))
        with a.assume(lt(index, M)):
            assert a.prove(inside(index, M))
            assert a.prove(inside(index - index % 2, M))


def test_valid_windows_need_no_guard() -> None:
    out = (N - 3) // 2 + 1
    a = analyzer((i, out), (k, 3))
    assert a.prove(inside(i * 2 + k, N))
    assert not a.prove(inside(i * 2 + k + 1, N))


def test_neighbours() -> None:
    a = analyzer((i, N))
    assert a.prove(inside(N - 1 - i, N))
    assert not a.prove(inside(i + 1, N))
    with a.assume(lt(i, N - 1)):
        assert a.prove(inside(i + 1, N))
    with a.assume(ne(i, 0)):
        assert a.prove(inside(i - 1, N))
    with a.assume(logical_not(eq(i, 0))):
        assert a.prove(inside(i - 1, N))


def test_a_bound_by_way_of_another_index() -> None:
    a = analyzer((i, 12), (k, 7))
    with a.assume(lt(k, i)), a.assume(ne(k, 0)):
        assert a.prove(inside(i - 2, 12))
        assert not a.prove(inside(i - 3, 12))


@pytest.mark.parametrize(
    "clip", [lambda x, n: minimum(maximum(x, 0), n - 1), lambda x, n: maximum(minimum(x, n - 1), 0)]
)
def test_clip(clip: Callable[[Expr, Expr], Expr]) -> None:
    a = analyzer((k, 9))
    assert not a.prove(inside(clip(k - 4, N), N))
    with a.assume(ge(N, 1)):
        assert a.prove(inside(clip(k - 4, N), N))
        assert a.prove(inside(clip(k - 4, N) * M + 0, N * M)) is False  # M may be 0
        with a.assume(gt(M, 0)):
            assert a.prove(inside(clip(k - 4, N) * M, N * M))


def test_groups() -> None:
    a = analyzer((i, N * 4), (k, C))
    assert a.prove(inside(i // 4, N))
    assert a.prove(inside(i // 4 * C + k, N * C))
    a = analyzer((i, A), (k, C))
    with a.assume(gt(B, 0)):
        # f // (F // groups) * (C // groups) + c, with F == B * A and C == B * C here
        assert a.prove(inside(i // A * C + k, C))


def test_groups_of_symbolic_channels() -> None:
    """As in a grouped convolution: f // (F // 4) * (C // 4) + c, where 4 divides F."""
    a = analyzer((f, A), (k, C // 4))
    index = f // (A // 4) * (C // 4) + k
    assert not a.prove(inside(index, C))
    with a.assume(eq(A % 4, 0)):
        assert a.prove(inside(f // (A // 4), 4))
        assert a.prove(inside(index, C))


def test_element_values_under_guards() -> None:
    ids = placeholder("ids", (N,), "int64")
    small = placeholder("small", (N,), "int32")
    for tensor in (ids, small):
        a = analyzer((i, N))
        value = cast(read(tensor, i), INDEX)
        assert not a.prove(inside(value, M))
        with a.assume(inside(read(tensor, i), M)):
            assert a.prove(inside(value, M))
            assert a.prove(inside(read(tensor, i + 1 - 1), M))
        wrapped = select(lt(value, 0), value + M, value)
        with a.assume(logical_and(le(-M, value), lt(value, M))):
            assert a.prove(inside(wrapped, M))
        with a.assume(inside(wrapped, M)):
            assert a.prove(inside(wrapped, M))


def test_element_arithmetic_may_wrap() -> None:
    ids = placeholder("ids", (N,), "int64")
    a = analyzer((i, N))
    value = read(ids, i)
    with a.assume(ge(value, 0)):
        assert not a.prove(ge(value + 1, 1))
    small = read(placeholder("small", (N,), "int8"), i)
    assert not a.prove(ge(small + 1, small))
    assert a.prove(ge(cast(small, INDEX) + 1, cast(small, INDEX)))


def test_tables() -> None:
    starts = Table(INDEX, (0, 3, 7), i)
    sizes = Table(INDEX, (3, 4, 2), i)
    a = analyzer((i, 3), (k, sizes))
    assert a.prove(inside(starts + k, 9))
    assert not a.prove(inside(starts + k, 8))
    assert a.interval(starts).hi == 7


def test_alternatives() -> None:
    a = analyzer((i, N))
    with a.assume(logical_or(eq(N, 4), eq(N, 8))):
        assert a.prove(le(N, 8))
        assert a.prove(logical_or(eq(N, 8), lt(N, 5)))
        assert not a.prove(eq(N, 4))


def test_broadcast_index() -> None:
    a = analyzer((i, N))
    with a.assume(logical_or(eq(M, N), eq(M, 1))):
        assert a.prove(inside(select(eq(M, 1), 0, i), M))


def test_remainders() -> None:
    a = Analyzer()
    v = var("anything")
    assert a.prove(inside(v % 5, 5))
    assert not a.prove(inside(v % N, N))
    with a.assume(gt(N, 0)):
        assert a.prove(inside(v % N, N))


@pytest.mark.parametrize(
    ("condition", "holds", "open_"),
    [
        (lt(k, 3), ge(k, 3), gt(k, 3)),
        (le(k, 3), gt(k, 3), gt(k, 4)),
        (gt(k, 3), le(k, 3), lt(k, 3)),
        (ge(k, 3), lt(k, 3), lt(k, 2)),
        (ne(k, 3), eq(k, 3), eq(k, 4)),
        (logical_or(lt(k, 0), ge(k, N)), inside(k, N), inside(k, N - 1)),
    ],
)
def test_negation_learns_the_complement(condition: Expr, holds: Expr, open_: Expr) -> None:
    a = Analyzer()
    with a.negate(condition):
        assert a.prove(holds)
        assert not a.prove(open_)
    with a.assume(condition):
        assert a.prove(logical_not(holds))


def test_scopes_forget() -> None:
    a = analyzer((i, N))
    with a.scope():
        a.bind(k, 0, M)
        assert a.prove(ge(M, 1))
    assert not a.prove(ge(M, 1))


def test_a_var_can_be_bound_again() -> None:
    a = analyzer((i, 4))
    assert a.prove(lt(i, 4))
    a.bind(i, 0, 8)
    assert not a.prove(lt(i, 4))
    assert a.prove(lt(i, 8))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ((i * 8 + j) // 8, "i"),
        ((i * 8 + j) % 8, "j"),
        ((i * 8 + j) // 4, "i * 2 + j // 4"),
        ((i * 8 + j) % 4, "j % 4"),
        (i // 2 // 4, "0"),
        ((i + j * 3 + 7) // 2 // 4, "(i + j * 3 + 7) // 8"),
        (j // 3 * 3 + j % 3, "j"),
        (k % 24 // 4 * 4 + k % 4, "k % 24"),
        (k % 24 // 4 * 8 + k % 24 % 4 * 2, "k % 24 * 2"),
        (k // 24 * 24 + k % 24 // 4 * 4 + k % 24 % 4, "k"),
        (k % 24 // 4 * 4 + k % 24 // 12 * 12 + k % 4 + k % 12, "k % 24 * 2"),
        (k % 24 // 4 * 4 + k % 3, "k % 24 // 4 * 4 + k % 3"),
        (minimum(i, 7), "i"),
        (maximum(i - 4, 0), "max(i - 4, 0)"),
        (select(lt(i, 8), i, 0), "i"),
        (lt(i, 8), "True"),
        (7 - i, "7 - i"),
        (i * 3 - i * 2 - i, "0"),
        ((i + 1) * (j + 2), "i * 2 + i * j + j + 2"),
    ],
    ids=str,
)
def test_simplify(expression: Expr, expected: str) -> None:
    assert to_text(analyzer((i, 8), (j, 8)).simplify(expression)) == expected


def test_simplify_with_symbolic_extents() -> None:
    a = analyzer((i, N), (j, M))
    assert to_text(a.simplify((i * M + j) // M)) == "i"
    assert to_text(a.simplify((i * M + j) % M)) == "j"
    assert to_text(Analyzer().simplify((i * M) // M)) == "i * m // m"  # 0 where m is 0


def test_simplification_is_fast() -> None:
    def run() -> float:
        start = time.process_time()
        for _ in range(200):
            a = analyzer((i, 64), (j, 64))
            a.simplify((i * 64 + j) // 64 * 64 + (i * 64 + j) % 64 + 1)
        return time.process_time() - start

    assert min(run() for _ in range(5)) < 0.1  # 13 ms of its own on an idle machine


def test_long_sums_do_not_recurse() -> None:
    total: Expr = i
    for _ in range(5000):
        total = total + j
    assert to_text(analyzer((i, 4), (j, 4)).simplify(total)) == "i + j * 5000"


NEAR = dim("near")


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (i, 0, N - 1),
        (N - 1 - i, 0, N - 1),
        (i * M + j, 0, N * M - 1),
        (k % NEAR, 0, NEAR - 1),
        (k % 5, 0, 4),
        (i // 2, 0, (N - 1) // 2),
        ((i * 4 + 3) // 4, 0, N - 1),
        (f // NEAR, 0, M - 1),
        (minimum(i, M - 1), 0, M - 1),
        (maximum(minimum(k, NEAR - 1), 0), 0, NEAR - 1),
        (select(lt(k, 3), 3, minimum(k, 9)), 3, 9),
        (select(lt(i, j), 0, i - j), 0, N - 1),
        (select(ge(k, NEAR), NEAR, maximum(k, 0)), 0, NEAR),
        (cast(lt(k, 3), INDEX), 0, 1),
        (Table(INDEX, (4, 1, 7), i % 3), 1, 7),
    ],
    ids=str,
)
def test_bounds_are_tight(value: Expr, low: int, high: int | Expr) -> None:
    """The least and the greatest value are proved, and one less room is not."""
    a = analyzer((i, N), (j, M), (f, M * NEAR))
    assert a.prove(logical_and(le(low, value), le(value, high)))
    assert not a.prove(le(low + 1, value))
    assert not a.prove(lt(value, high))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ((i * M - 1) // M, "i - 1"),
        ((i * M - 1) % M, "m - 1"),
        ((i * M + j) // M * 2 + (i * M + j) % M, "i * 2 + j"),
        ((f % M) * 1 + f // M * M, "f"),
    ],
    ids=str,
)
def test_symbolic_division(expression: Expr, expected: str) -> None:
    assert to_text(analyzer((i, N), (j, M), (f, N * M)).simplify(expression)) == expected


def test_numbers_bind_a_var_as_expressions_do() -> None:
    for least in (-3, 0, 4):
        for extent in (0, 1, 2, 9):
            v, plain, computed = var("v"), Analyzer(), Analyzer()
            plain.bind(v, least, extent)
            computed.bind(v, least, const(extent, INDEX))
            assert plain.context == computed.context
            assert plain.table.atoms[0].range == computed.table.atoms[0].range
            plain.bind(v, 1, 6)  # another binding takes the place of the first
            assert plain.interval(v) == Interval(1, 6)


def taken_apart(b: Expr, n: Expr) -> Expr:
    """The elements of b rows of n, shared out among as many rows again, which may be none."""
    return b * n * 120 // (b * 120)


def met_in_a_broadcast(b: Expr, n: Expr) -> Expr:
    """n, or what becomes of it when it is taken apart twice, where that is not 1."""
    again = taken_apart(b, taken_apart(b, n))
    return select(eq(again, 1), n, again)


def test_a_proof_that_needs_itself_is_given_up() -> None:
    """A quotient is positive if its divisor is, which is a factor of the quotient's own product."""
    b, n = dim("b"), dim("n")
    met = met_in_a_broadcast(b, n)
    analyzer = Analyzer()
    assert not analyzer.prove(ge(b * met * 120, b * taken_apart(b, met) * 120 + 1))
    assert analyzer.given_up
    with analyzer.assume(ge(b, 1)):
        assert str(analyzer.simplify(taken_apart(b, met))) == "n"


def test_what_follows_from_a_goal_that_was_given_up_is_not_remembered() -> None:
    b, n = dim("b"), dim("n")
    met = met_in_a_broadcast(b, n)
    rest = taken_apart(b, met)
    used = Analyzer()
    assert not used.prove(ge(b * met * 120, b * rest * 120 + 1))
    assert used.given_up
    for claim in (le(rest, b * met * 120), ge(rest, 0), ge(met, 0), ge(b * rest, 0)):
        assert Analyzer().prove(claim) == used.prove(claim), to_text(claim)


def test_quotients_and_extremes_that_are_bounded_bound_what_they_are_made_of() -> None:
    n, m = dim("n"), dim("m")
    analyzer = Analyzer()
    analyzer.bind(var("i"), 0, n * 7 // 4)
    assert analyzer.prove(ge(n, 1))
    analyzer.bind(var("j"), 0, minimum(m, 100) - minimum(m, 1))
    assert analyzer.prove(ge(m, 1))
    assert not analyzer.prove(ge(m, 3))
    assert Analyzer().prove(ne(n * 2, 1))
    assert not Analyzer().prove(ne(n * 2, 4))


def test_positions_of_slices_are_inside() -> None:
    """Of x[2:-1] and x[-1::-2], for all extents."""
    n, i = dim("n"), var("i")
    analyzer = Analyzer()
    first, last = minimum(2, n), maximum(n - 1, 0)
    analyzer.bind(i, 0, maximum(last - first, 0))
    assert analyzer.prove(lt(first + i, n))
    analyzer = Analyzer()
    analyzer.bind(i, 0, (n + 1) // 2)
    assert analyzer.prove(logical_and(ge(n - 1 - i * 2, 0), lt(n - 1 - i * 2, n)))


def test_a_product_of_quotients_that_is_positive_makes_their_dividends_positive() -> None:
    """As of the extent of a loop over images, and parts of their planes."""
    n, h, w, x = dim("n"), dim("h"), dim("w"), var("x")
    known = Analyzer()
    known.learn(ge(n * ((h * w + 31) // 32), 1), True)
    assert known.prove(ge(w, 1))
    assert known.prove(ge(h, 1))
    assert to_text(known.simplify(x // w * w + x % w)) == "x"


def test_parts_of_unsigned_numbers_stay_unsigned() -> None:
    """A cast of the whole to an index wraps, a quotient of that is another number."""
    wide, narrow = Var(UINT64, "w"), Var(UINT32, "n")
    assert (
        to_text(Analyzer().simplify(cast(wide >> const(56, UINT64), INDEX))) == "cast(w >> uint64(56), index)"
    )
    assert (
        to_text(Analyzer().simplify(cast(narrow >> const(24, UINT32), INDEX))) == "cast(n, index) // 16777216"
    )


@pytest.mark.parametrize(("low", "high"), [(1, 1), (1, 2), (3, 4), (0, 2), (5, 0)])
def test_mirrored_positions_are_inside(low: int, high: int) -> None:
    """Where a case of a maximum contradicts what is known, nothing is left to prove in it."""
    n, i = dim("n"), var("i")
    known = analyzer((i, n + (low + high)))
    period = maximum(n * 2 - 2, 1)
    folded = (i - low) % period
    place = select(lt(folded, n), folded, period - folded)
    assert not known.prove(lt(place, n))
    known.learn(ge(n, 1), True)
    assert known.prove(inside(place, n))


def test_linear_equations() -> None:
    i, j, n = Var(INDEX, "i"), Var(INDEX, "j"), dim("n")
    for e, wanted in (
        (i * 4 + j - 3, ["4", "1", "-3"]),
        ((i + 2) * n + j * 2, ["n", "2", "n * 2"]),
        (j * 5, ["0", "5", "0"]),
        (i // 2 + j, []),
        (i * j, []),
    ):
        assert [str(each) for each in detect_linear_equation(e, [i, j])] == wanted
    assert [str(each) for each in detect_linear_equation(i // 2 + j, [j])] == ["1", "i // 2"]
    assert detect_linear_equation(i * n, [n]) == []
