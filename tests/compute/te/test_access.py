"""What is seen to be inside without a proof."""

from __future__ import annotations

import pytest

from opgen_runtime.base.arith import (
    Analyzer,
    Expr,
    Var,
    const,
    dim,
    eq,
    floordiv,
    le,
    logical_and,
    lt,
    select,
)
from opgen_runtime.base.vocabulary import INDEX
from opgen_runtime.compute.te.access import is_plainly_inside, why_not_inside

X, Y = Var(INDEX, "x"), Var(INDEX, "y")
H, W = dim("h"), dim("w")


def half(of: Expr) -> Expr:
    """A size that is made anew each time."""
    return floordiv(of + 1, 2)


def test_an_index_over_a_size_of_the_same_structure() -> None:
    assert is_plainly_inside(X, half(H), {X: half(H)}, ())
    assert not is_plainly_inside(X, half(H), {X: half(W)}, ())
    assert not is_plainly_inside(X, half(H), {Y: half(H)}, ())


def test_the_one_element_of_a_broadcast() -> None:
    broadcast = select(eq(half(H), 1), const(0, INDEX), X)
    assert is_plainly_inside(broadcast, half(H), {X: half(H)}, ())
    # nothing runs over the size, which may be 0
    assert not is_plainly_inside(const(0, INDEX), half(H), {Y: half(W)}, ())
    assert not is_plainly_inside(select(eq(half(H), 1), const(1, INDEX), X), half(H), {X: half(H)}, ())


def test_what_facts_say_as_it_is_written() -> None:
    index = X + Y - 3
    extents = {X: half(H), Y: 7}
    known = logical_and(le(0, index), lt(index, half(H)))
    assert is_plainly_inside(index, half(H), extents, (known,))
    assert not is_plainly_inside(index, half(W), extents, (known,))
    assert not is_plainly_inside(index, half(H), extents, (le(0, index),))
    assert not is_plainly_inside(index, half(H), extents, (lt(index, half(H)),))


def test_no_analyzer_is_made_for_what_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(self: Analyzer, condition: Expr) -> bool:
        raise AssertionError("it is proved")

    monkeypatch.setattr(Analyzer, "prove", asked)
    size = half(half(half(H)))
    broadcast = select(eq(size, 1), const(0, INDEX), X)
    assert why_not_inside("x", 0, broadcast, half(half(half(H))), {X: half(half(half(H)))}, ()) is None
