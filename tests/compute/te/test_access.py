"""What is seen to be inside without a proof, and what a proof is asked of."""

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
from opgen_runtime.compute.lang.scope import Scope
from opgen_runtime.compute.te.access import bearing_on, is_plainly_inside, why_not_inside
from opgen_runtime.compute.te.proved import Proved

X, Y, Z = Var(INDEX, "x"), Var(INDEX, "y"), Var(INDEX, "z")
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


def test_what_bears_on_an_access_is_what_speaks_of_its_vars() -> None:
    rows, columns, size = le(X, H - 1), le(Y, W - 1), lt(H, 9)
    extents = {X: half(H), Y: half(W), Z: 4}
    found = bearing_on(X + 1, H, extents, (logical_and(rows, columns), size, lt(Z, 3)))
    assert found is not None
    assert found[0] == {X: extents[X]}
    assert list(map(str, found[1])) == ["x <= h - 1", "h < 9"]


def test_what_bears_on_it_by_way_of_others() -> None:
    extents = {X: 4, Y: 4, Z: 4}
    facts = (lt(X, Y), lt(Y, H))
    assert bearing_on(X, half(H), {X: 4, Y: 4}, facts) is None  # all of them
    assert bearing_on(X, half(H), extents, facts) == ({X: 4, Y: 4}, facts)


def test_axes_apart_are_proved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same access of another axis is not sought anew."""
    proofs: list[str] = []
    prove = Analyzer.prove

    def counted(self: Analyzer, condition: Expr, effort: int = 1) -> bool:
        proofs.append(str(condition))
        return prove(self, condition, effort)

    proved = Proved()
    monkeypatch.setattr(Analyzer, "prove", counted)
    for size in (H, W):
        scope = Scope({X: half(H), Y: half(W)}, proved=proved)
        scope.prove_access("t", 0, {H: X, W: Y}[size] * 2, size + 1)
    assert proofs == ["(0 <= x * 2) & (x * 2 < h + 1)"]
