"""The native thread pool: `opgen_parallel_for` for emitted code, and how many threads it uses."""

from __future__ import annotations

from collections.abc import Mapping

from ....base import Target
from ..cache import ObjectCache
from ..support import LazySymbols
from .pool import load, num_threads, set_num_threads
from .pool_text import SYMBOLS, pool_text

__all__ = ["module_of", "num_threads", "set_num_threads", "symbols"]


def module_of(symbol: str, target: Target) -> tuple[str, str] | None:
    """Name and text of the module that has a symbol, if it is the pool's."""
    return ("thread pool", pool_text(target.triple)) if symbol in SYMBOLS else None


def symbols(cache: ObjectCache | None = None) -> Mapping[str, int]:
    """What emitted code may import from the pool: name to address; the pool is loaded when one is asked for.

    `cache` keeps the pool's object code (default: the user's cache).
    """
    return LazySymbols(SYMBOLS, lambda name: load(cache).addresses[name])
