"""Copies of tensors in another order, as kernels of `tests.fuzz.kernels` read them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from opgen_runtime.base.arith import Expr, floordiv, floormod


def rearrangement(
    chance: random.Random, sizes: Sequence[int]
) -> tuple[tuple[int, ...], Callable[[Sequence[Expr]], list[Expr]]]:
    """The extents of a copy, and where its elements stand in a tensor of these sizes."""
    if chance.random() < 0.35:  # flat

        def unflattened(at: Sequence[Expr]) -> list[Expr]:
            (rest,) = at
            places: list[Expr] = []
            for size in reversed(sizes):
                places.insert(0, floormod(rest, size))
                rest = floordiv(rest, size)
            return places

        return (math.prod(sizes),), unflattened
    extents = list(sizes)
    at = chance.randrange(len(sizes))
    by, first = chance.randint(2, 9), chance.randrange(sizes[at])
    kind = chance.choice(("as it is", "repeated", "tiled", "every n-th", "stacked"))
    if kind in ("repeated", "tiled"):
        extents[at] *= by
    elif kind == "every n-th":
        extents[at] = -(-(sizes[at] - first) // by)
    elif kind == "stacked":
        extents.insert(at, by)

    def places(found: Sequence[Expr]) -> list[Expr]:
        places = list(found)
        if kind == "stacked":
            del places[at]
        elif kind == "repeated":
            places[at] = floordiv(places[at], by)
        elif kind == "tiled":
            places[at] = floormod(places[at], sizes[at])
        elif kind == "every n-th":
            places[at] = places[at] * by + first
        return places

    return tuple(extents), places
