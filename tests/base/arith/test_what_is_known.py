"""What is known of a var whose remainder is known, and of the steps of a loop between two elements."""

from __future__ import annotations

import pytest

from opgen_runtime.base import arith
from opgen_runtime.base.arith import Analyzer, Var, dim, eq, floordiv, ge, gt
from opgen_runtime.base.arith.polynomial import Poly, PolyKey
from opgen_runtime.base.arith.prover import Prover
from opgen_runtime.base.vocabulary import INDEX, INT64
from opgen_runtime.compute import te


@pytest.mark.parametrize(
    ("extent", "divisor", "remainder", "last"),
    [(4, 2, 0, 2), (5, 2, 0, 4), (5, 2, 1, 3), (10, 3, 1, 7), (10, 3, 0, 9), (9, 4, 3, 7)],
)
def test_the_last_value_with_a_remainder(extent: int, divisor: int, remainder: int, last: int) -> None:
    d = Var(INDEX, "d")
    analyzer = Analyzer()
    analyzer.bind(d, 0, extent)
    assert not analyzer.prove(arith.le(d, last)) or last == extent - 1
    with analyzer.assume(arith.eq(d % divisor, remainder)):
        assert analyzer.prove(arith.le(d, last))
        assert not analyzer.prove(arith.le(d, last - 1))
        assert analyzer.prove(arith.ge(d, remainder))


def test_the_next_in_pairs_of_a_symbolic_dim() -> None:
    d, extent = Var(INDEX, "d"), Var(INDEX, "D", size=True)
    analyzer = Analyzer()
    analyzer.bind(d, 0, extent)
    even = arith.eq(d % 2, 0)
    with analyzer.assume(even):
        assert not analyzer.prove(arith.lt(d + 1, extent))
    with analyzer.assume(arith.eq(extent % 2, 0)):
        assert not analyzer.prove(arith.lt(d + 1, extent))
        with analyzer.assume(even):
            assert analyzer.prove(arith.lt(d + 1, extent))
            assert not analyzer.prove(arith.lt(d + 2, extent))
        with analyzer.negate(even):
            assert analyzer.prove(arith.ge(d - 1, 0))


def test_a_loop_of_as_many_steps_as_a_choice_has_its_condition() -> None:
    z, start, stop = Var(INDEX, "z"), Var(INT64, "s"), Var(INT64, "e")
    low = arith.maximum(start, 0)
    high = arith.minimum(stop, 9)
    analyzer = Analyzer()
    analyzer.bind(z, 0, arith.select(arith.lt(low, high), high - low, arith.const(0, INT64)))
    assert analyzer.prove(arith.lt(low + arith.cast(z, INT64), 9))
    assert analyzer.prove(arith.ge(low + arith.cast(z, INT64), 0))
    assert not analyzer.prove(arith.lt(low + arith.cast(z, INT64), 8))


def test_a_loop_over_a_maximum_knows_which_side_it_is() -> None:
    """As over the windows of a pool: with one that is left at least, their number is not the 0."""
    n, m, x = dim("n"), dim("m"), Var(INDEX, "x")
    windows = arith.maximum(n - 2, 0)
    known = Analyzer()
    assert not known.prove(ge(n, 3))
    known.bind(x, 0, m * ((windows + 12) // 13))
    assert known.prove(ge(n, 3))
    assert str(known.simplify(arith.maximum(n - 2, 0))) == "n - 2"


def test_a_minimum_that_is_small_is_the_side_that_is() -> None:
    n, m = dim("n"), dim("m")
    known = Analyzer()
    known.learn(arith.le(arith.minimum(n, 8), 5), True)
    assert known.prove(arith.le(n, 5))
    known.learn(arith.le(arith.minimum(m, n), 5), True)
    assert not known.prove(arith.le(m, 5))


def test_products_of_what_is_at_least_some_number() -> None:
    n, m = dim("n"), dim("m")
    known = Analyzer()
    assert not known.prove(ge(n * m - n - m, 0))
    known.learn(arith.logical_and(ge(n, 2), ge(m, 2)), True)
    assert known.prove(ge(n * m - n - m, 0))
    assert not known.prove(ge(n * m - n - m, 1))


def test_the_distance_of_two_elements_may_wrap() -> None:
    z, start, stop = Var(INDEX, "z"), Var(INT64, "s"), Var(INT64, "e")
    low, high = arith.maximum(start, 0), arith.minimum(stop, 9)
    analyzer = Analyzer()
    analyzer.bind(z, 0, arith.maximum(high - low, 0))
    assert not analyzer.prove(arith.lt(low + arith.cast(z, INT64), 9))


def test_what_was_sought_in_vain_is_sought_again_when_more_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[int] = []
    search = Prover._search

    def counted(self: Prover, p: Poly, depth: int, seen: set[PolyKey]) -> bool:
        searches.append(depth)
        return search(self, p, depth, seen)

    monkeypatch.setattr(Prover, "_search", counted)
    n, m = dim("n"), dim("m")
    analyzer, claim = Analyzer(), ge(floordiv(n, 3) * 2, floordiv(m, 5))
    assert not analyzer.prove(claim)
    first = len(searches)
    assert first > 0
    assert not analyzer.prove(claim)
    assert len(searches) == first
    with analyzer.assume(ge(floordiv(n, 3), floordiv(m, 5))):
        assert analyzer.prove(claim)
    assert not analyzer.prove(claim)


def test_the_ends_of_a_position_hold_where_they_were_not_found() -> None:
    """What was found where there are elements says nothing of where there are none."""
    n = dim("n")
    k = te.reduce_axis(n, "k")
    position = te.reduce("argmax", k, te.read(te.placeholder("x", (n,), "float32"), k.var))
    analyzer, some = Analyzer(), gt(n, 0)
    with analyzer.suppose(some, True):
        assert analyzer.prove(ge(position, 0))
    with analyzer.suppose(some, False):
        assert not analyzer.prove(ge(position, 0))
        assert analyzer.prove(eq(position, -1))
