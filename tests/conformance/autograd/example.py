"""One comparison: arrays, and a function of them in two libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item")


@dataclass(frozen=True)
class Example:
    """`ours(*arrays)` and `theirs(*tensors)` mean the same; integers are given to both as they are."""

    arrays: Sequence[np.ndarray]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    text: str = ""
    tolerance: float = 1e-8


class Draw:
    """Random arguments of one example."""

    def __init__(self, *seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        """One of low, ..., high."""
        return int(self.random.integers(low, high + 1))

    def chance(self) -> bool:
        return bool(self.random.integers(2))

    def one(self, items: Sequence[Item]) -> Item:
        return items[int(self.random.integers(len(items)))]

    def number(self, low: float, high: float) -> float:
        return float(self.random.uniform(low, high))

    def shape(self, least: int = 1, most: int = 4, extent: int = 5) -> tuple[int, ...]:
        return tuple([self.integer(1, extent) for _ in range(self.integer(least, most))])

    def normal(self, shape: Sequence[int]) -> np.ndarray:
        return np.asarray(self.random.normal(0.0, 1.3, tuple(shape)))

    def uniform(self, low: float, high: float, shape: Sequence[int]) -> np.ndarray:
        return np.asarray(self.random.uniform(low, high, tuple(shape)))

    def integers(self, below: int, shape: Sequence[int], low: int = 0) -> np.ndarray:
        return np.asarray(self.random.integers(low, below, tuple(shape)))

    def axis(self, ndim: int) -> int:
        """Counted from either end."""
        return self.integer(-ndim, ndim - 1)

    def axes(self, ndim: int) -> tuple[int, ...]:
        """Some axes in any order, each counted from either end."""
        count = self.integer(1, ndim)
        found = self.random.permutation(ndim)[:count]
        return tuple([int(a) - ndim if self.chance() else int(a) for a in found])

    def below(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that is broadcast with `shape`."""
        made = [1 if self.integer(0, 2) == 0 else dim for dim in shape]
        return tuple(made[self.integer(0, len(made)) :])

    def pair(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two shapes that are broadcast with each other."""
        shape = self.shape()
        both = self.below(shape), tuple([1 if self.integer(0, 3) == 0 else dim for dim in shape])
        return both if self.chance() else (both[1], both[0])


Make = Callable[[Draw], Example]
Rows = Iterator[tuple[str, Make]]
