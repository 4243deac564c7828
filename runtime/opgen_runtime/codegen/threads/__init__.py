"""The native thread pool: `opgen_parallel_for` for emitted code, and how many threads it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..cache import ObjectCache
from .pool import load, num_threads, set_num_threads
from .pool_text import SYMBOLS

__all__ = ["num_threads", "set_num_threads", "symbols"]


class _Symbols(Mapping[str, int]):
    """Name to address; the pool is loaded when the first address is asked for."""

    def __init__(self, cache: ObjectCache | None) -> None:
        self._cache = cache

    def __getitem__(self, name: str) -> int:
        if name not in SYMBOLS:
            raise KeyError(name)
        return load(self._cache).addresses[name]

    def __iter__(self) -> Iterator[str]:
        return iter(SYMBOLS)

    def __len__(self) -> int:
        return len(SYMBOLS)


def symbols(cache: ObjectCache | None = None) -> Mapping[str, int]:
    """What emitted code may import from the runtime: name to address.

    `cache` keeps the pool's object code (default: the user's cache).
    """
    return _Symbols(cache)
