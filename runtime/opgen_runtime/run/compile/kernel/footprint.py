"""The memory that compiled programs take, and caches of them, which are bounded by it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol, TypeVar

import numpy as np

from ....base.lru_cache import Footprint, LRUCache
from ..native.pointers import address_of

OBJECT_BYTES: Final = 1 << 13  # about what a kernel or a program takes in Python, with its entries
MOST_BYTES: Final = 1 << 28  # of the programs that one cache keeps
_LEAST: Final = 8  # programs that a cache keeps however large they are


class Compiled(Protocol):
    """What machine code belongs to."""

    def footprint(self) -> Footprint: ...


C = TypeVar("C", bound=Compiled)


def programs(limit: int, most_bytes: int = MOST_BYTES) -> LRUCache[C]:
    """A memory of at most `limit` programs, of at most `most_bytes` together where they are more than a few.

    A program that it drops ends when nobody else holds it: code that a thread runs is held by the call.
    """
    return LRUCache(limit, most_bytes, lambda program: program.footprint(), _LEAST)


def footprint_of(arrays: Iterable[np.ndarray]) -> Footprint:
    """The memory of the elements of arrays."""
    return [(address_of(array), array.nbytes) for array in arrays]
