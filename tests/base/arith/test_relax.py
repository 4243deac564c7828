"""Positions that are taken apart and put together again are what they were."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from opgen_runtime.base.arith import Expr, Var, const, minimum
from opgen_runtime.base.arith.relax import Relaxer
from opgen_runtime.base.vocabulary import INDEX

SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def flat(indices: list[Expr], shape: list[int]) -> Expr:
    position: Expr = const(0, INDEX)
    for index, extent in zip(indices, shape, strict=True):
        position = position * extent + index
    return position


def unflat(position: Expr, shape: list[int]) -> list[Expr]:
    """The indices of a position, as a reshape writes them."""
    found: list[Expr] = []
    for extent in reversed(shape[1:]):
        found.append(position % extent)
        position = position // extent
    return [position, *reversed(found)]


@given(SHAPES, st.lists(SHAPES, min_size=1, max_size=3))
def test_a_reshape_of_a_reshape_walks_through_memory_as_it_did(
    first: list[int], others: list[list[int]]
) -> None:
    axes = [Var(INDEX, f"i{k}") for k in range(len(first))]
    position = flat(list(axes), first)
    for shape in others:
        position = flat(unflat(position, shape), shape)
    found = Relaxer({}, {}).range(position)
    steps = {axis: math.prod(first[k + 1 :]) for k, axis in enumerate(axes)}
    assert found == (steps, 0, 1)


def test_another_divisor_or_factor_stays() -> None:
    i = Var(INDEX, "i")
    for position in (i // 4 * 4 + i % 2, i // 4 * 2 + i % 4, i // 4 * 4 - i % 4, (i + 1) // 4 * 4 + i % 4):
        found = Relaxer({}, {}).range(position)
        assert found is not None
        assert i not in found[0]


def test_the_lesser_of_two_that_stay_is_where_a_range_begins() -> None:
    i, j = Var(INDEX, "i"), Var(INDEX, "j")
    begin = minimum(i * 12, 71 - 12)
    found = Relaxer({j: 12}, {i: 6}).range(begin + j + 1)
    assert found is not None
    ((atom, factor),) = found[0].items()
    assert (str(atom), factor, found[1:]) == (str(begin), 1, (1, 12))
    assert Relaxer({i: 6, j: 12}, {}).range(begin + j) == ({}, 0, 71)
    assert Relaxer({j: 12}, {i: 6}).range(minimum(i, j)) is None  # which of them it is changes
