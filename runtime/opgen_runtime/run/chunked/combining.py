"""How partial results of a reduction are folded into one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...base.vocabulary import dataclass

FAN_IN: Final = 8
"""How many partial results one task folds."""


@dataclass(frozen=True, slots=True)
class Combiner:
    """`fold` of two partial results; `has_position`: these are pairs of positions along the axis, and values there."""

    fold: Callable[..., Any]
    has_position: bool = False


def _first_greatest(values: Any, others: Any) -> Any:
    return (others > values) | (np.isnan(others) & ~np.isnan(values))


def _first_least(values: Any, others: Any) -> Any:
    return (others < values) | (np.isnan(others) & ~np.isnan(values))


COMBINERS: Final[Mapping[str, Combiner]] = {
    "sum": Combiner(np.add),
    "prod": Combiner(np.multiply),
    "max": Combiner(np.maximum),
    "min": Combiner(np.minimum),
    "and": Combiner(np.logical_and),
    "or": Combiner(np.logical_or),
    "argmax": Combiner(_first_greatest, has_position=True),
    "argmin": Combiner(_first_least, has_position=True),
}
"""By the combiner of a `Reduce`; parts come in the order of the axis, so that the first of equal values is found."""


def folded(combiner: str, parts: Sequence[Any]) -> Any:
    """The parts as one, in their order."""
    rule = COMBINERS[combiner]
    first, *others = parts
    if not rule.has_position:
        for other in others:
            first = rule.fold(first, other)
        return first
    positions, values = first
    for at, found in others:
        taken = rule.fold(values, found)
        positions, values = np.where(taken, at, positions), np.where(taken, found, values)
    return positions, values
