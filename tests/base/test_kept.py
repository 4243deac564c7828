"""Memories of what was made for a key: bounded by how many values there are, and by what memory they take."""

from __future__ import annotations

import numpy as np

from opgen_runtime.base.lru_cache import Footprint, LRUCache


def footprint(arrays: tuple[np.ndarray, ...]) -> Footprint:
    return [(id(array), array.nbytes) for array in arrays]


def sized(*sizes: int) -> tuple[np.ndarray, ...]:
    return tuple([np.zeros(size, np.uint8) for size in sizes])


def test_values_have_sizes() -> None:
    kept: LRUCache[tuple[np.ndarray, ...]] = LRUCache(10, 100, footprint)
    for number in range(5):
        kept.put(number, sized(30))
    assert (list(kept), kept.nbytes) == ([2, 3, 4], 90)
    kept.put(3, sized(50, 40))
    assert (list(kept), kept.nbytes) == ([3], 90)
    kept.put(9, sized(101))
    assert (list(kept), kept.nbytes) == ([3], 90)
    kept.put(4, sized(10))
    assert (list(kept), kept.nbytes) == ([3, 4], 100)
    kept.clear()
    assert (list(kept), kept.nbytes) == ([], 0)


def test_what_values_share_counts_once() -> None:
    (shared,) = sized(60)
    kept: LRUCache[tuple[np.ndarray, ...]] = LRUCache(10, 100, footprint)
    for number in range(4):
        kept.put(number, (shared, *sized(10)))
    assert (list(kept), kept.nbytes) == ([0, 1, 2, 3], 100)
    kept.put(4, (shared, *sized(30)))
    assert (list(kept), kept.nbytes) == ([3, 4], 100)
    kept.put(5, sized(70))
    assert (list(kept), kept.nbytes) == ([5], 70), "what was shared counts until the last of them goes"


def test_few_are_kept_whatever_they_take() -> None:
    kept: LRUCache[tuple[np.ndarray, ...]] = LRUCache(10, 100, footprint, least=2)
    for number in range(4):
        kept.put(number, sized(1000))
    assert (list(kept), kept.nbytes) == ([2, 3], 2000)
    kept.put(4, sized(1))
    assert list(kept) == [3, 4]
    kept.put(5, sized(1))
    assert (list(kept), kept.nbytes) == ([4, 5], 2)
    kept.limit = 1
    kept.put(6, sized(1))
    assert list(kept) == [6]


def test_values_without_sizes_are_counted() -> None:
    kept: LRUCache[str] = LRUCache(2)
    for key in "abcb":
        kept.put(key, key.upper())
    assert (list(kept), kept.nbytes) == (["c", "b"], 0)
