"""Values that refute a question before a proof is searched for: nothing that has a proof loses it."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opgen_runtime.base import arith
from opgen_runtime.base.arith import Analyzer, Expr, Var, const, prover, witness
from opgen_runtime.base.arith.prover import Prover
from opgen_runtime.base.vocabulary import BOOL, INDEX
from tests.base.arith.test_properties import CONDITIONS, V, analyzer
from tests.base.arith.test_properties import N as SIZE

N, M, K = (arith.dim(name) for name in "nmk")
I, J = (Var(INDEX, name) for name in "ij")  # noqa: E741
NO_PROOF: list[Expr] = [
    arith.eq(N, M),
    arith.ne(N, M),
    arith.eq(N * M, K),
    arith.eq(N % 3, 0),
    arith.ge(N, 1),
    arith.lt(N // 2, M),
]


def searches(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The polynomials that proofs are searched for from now on."""
    made: list[object] = []
    search = Prover._search
    monkeypatch.setattr(Prover, "_search", lambda self, p, *rest: (made.append(p), search(self, p, *rest))[1])
    return made


@pytest.mark.parametrize("condition", NO_PROOF, ids=str)
def test_what_a_few_dims_refute_is_not_searched(condition: Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    made = searches(monkeypatch)
    assert not Analyzer().prove(condition)
    assert not made


def test_what_is_known_refutes_nothing_that_follows_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The values satisfy what is bound and assumed: of an index in a loop, and of dims that are related."""
    known = Analyzer()
    known.bind(I, 0, N)
    with known.assume(arith.le(N, M)):
        assert known.prove(arith.lt(I, M))
        assert known.prove(arith.le(I * 2, M * 2))
        made = searches(monkeypatch)
        assert not known.prove(arith.lt(I + 1, N))
        assert not known.prove(arith.lt(M, N))
        assert not made
        known.bind(J, 0, I + 1)
        assert known.prove(arith.lt(J, M))


def test_a_long_search_asks_the_last_indices_of_even_dims(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fused loop over whole blocks is not within one image, which small indices do not show."""
    blocks, images = (N * M + 31) // 32, K
    known = Analyzer()
    known.bind(I, 0, images * blocks)
    with known.assume(arith.le(I % blocks * 32 + 32, N * M)):
        made = searches(monkeypatch)
        assert not known.prove(arith.lt(I, blocks))
        assert prover._LONG <= len(made) < 2 * prover._LONG
        assert known.prove(arith.lt(I // blocks, images))


def test_values_follow_each_other_where_a_loop_ends_between_two() -> None:
    """For j in 0 <= j < second - first of second > first: what holds there, and what does not."""
    known = Analyzer()
    first, second = (Var(INDEX, name) for name in ("first", "second"))
    known.bind(first, 0, N)
    with known.assume(arith.lt(first, second)):
        known.bind(J, 0, second - first)

        def is_refuted(e: Expr) -> bool:
            return known._is_negative_by(known.poly(e), known.context, (witness.LATE_KIND,))

        assert is_refuted(first - second)
        assert is_refuted(first - N + J)
        assert not is_refuted(second - first - J - 1)


# Beyond its range a mask has no value: what is supposed first cannot be, and refutes nothing.
IMPOSSIBLE = arith.lt(arith.bit_and(SIZE, const(2, INDEX)), const(0, INDEX))
ASKED = arith.gt(arith.bit_and(SIZE, const(0, INDEX)), arith.cast(V, INDEX) + SIZE)
NEVER = arith.select(IMPOSSIBLE, ASKED, const(False, BOOL))


@example(arith.logical_not(NEVER), False)
@given(CONDITIONS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_nothing_that_has_a_proof_loses_it(condition: Expr, nested: bool) -> None:
    """Without a search for values that refute it, no more is proved."""
    found = analyzer(nested).prove(condition)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prover, "_is_negative_by", lambda *_: False)
        exhaustive = analyzer(nested).prove(condition)
    assert found >= exhaustive
