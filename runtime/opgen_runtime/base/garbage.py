"""Python's search for cycles of garbage, while a program is compiled or declarations are checked.

What is made there lives until it is done, so that most searches walk a great heap and find nothing: at Python's own
thresholds they are a fifth of all work on declarations, and a quarter of the first call in a process.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from . import forks

_ALLOCATIONS: Final = 250_000  # objects more, between two searches; Python's own number is 700

_lock = forks.lock()
_inside: int = 0  # how many uses of `rare_collections` last, of all threads
_before: tuple[int, int, int] = gc.get_threshold()


@contextmanager
def rare_collections() -> Iterator[None]:
    """Search rarely inside, in all threads; afterwards as before the first of those that overlapped."""
    global _inside, _before
    with _lock:
        if not _inside:
            _before = gc.get_threshold()
            if 0 < _before[0] < _ALLOCATIONS:  # else searches are rarer still
                gc.set_threshold(_ALLOCATIONS)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside = max(0, _inside - 1)  # a fork inside has left it at 0
            if not _inside:
                _restore()


def _restore() -> None:
    if gc.get_threshold()[0] == _ALLOCATIONS:  # nobody has set another one meanwhile
        gc.set_threshold(*_before)


def _forget() -> None:
    """In the child of a fork, which has none of the other threads that were inside."""
    global _inside
    if _inside:
        _inside = 0
        _restore()


forks.in_child(_forget)
