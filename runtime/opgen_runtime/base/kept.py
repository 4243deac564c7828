"""`Kept`: a bounded memory of what was made for a key."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

from . import forks

V = TypeVar("V")

_lock = forks.lock()  # of all memories: it is held for an instant


class Kept(Generic[V]):
    """Values by key, at most `limit` of them: a new one beyond that takes the place of the least recently used.

    Where `size` says how much a value counts for, `limit` is that of all together, and what is larger is not kept.
    Threads may share one.
    """

    __slots__ = ("_size", "_sizes", "_values", "limit")

    def __init__(self, limit: int, size: Callable[[V], int] | None = None) -> None:
        assert limit > 0
        self.limit = limit
        self._size = size
        self._sizes = 0  # of all values together
        self._values: OrderedDict[Hashable, V] = OrderedDict()

    def get(self, key: Hashable) -> V | None:
        """The value of `key`, used most recently from now on; None if it is not kept."""
        with _lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
        return found

    def put(self, key: Hashable, value: V) -> V:
        """Keep `value` and give it back."""
        dropped = []  # freed after the lock is: what a kernel's end needs may take long
        size = self._of(value)
        if size > self.limit:
            return value
        with _lock:
            if key in self._values:
                dropped.append(self._values.pop(key))
                self._sizes -= self._of(dropped[0])
            self._values[key] = value
            self._sizes += size
            while self._sizes > self.limit:
                dropped.append(self._values.popitem(last=False)[1])
                self._sizes -= self._of(dropped[-1])
        del dropped
        return value

    def clear(self) -> None:
        """Forget everything."""
        with _lock:
            dropped, self._values, self._sizes = self._values, OrderedDict(), 0
        del dropped

    def __len__(self) -> int:
        return len(self._values)

    def _of(self, value: V) -> int:
        return 1 if self._size is None else self._size(value)

    def __iter__(self) -> Iterator[Hashable]:
        """The keys, the least recently used first."""
        with _lock:
            return iter(list(self._values))
