"""`LRUCache`: a least-recently-used cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeAlias, TypeVar

from . import forks

V = TypeVar("V")
Footprint: TypeAlias = "Iterable[tuple[int, int]]"
"""The memory that something takes: where each part of it lies, and about how many bytes that has."""

_lock = forks.lock()  # of all memories: it is held for an instant


class LRUCache(Generic[V]):
    """Values by key, at most `limit` of them: a new one beyond that takes the place of the least recently used.

    Where `footprint` says what memory a value takes, all together take at most `most_bytes`; what several of them share
    counts once.  The `least` values that were used last are kept whatever they take; where that is none, a value that
    takes more than `most_bytes` alone is not kept.  Threads may share one.
    """

    __slots__ = ("_footprint", "_parts", "_users", "_values", "least", "limit", "most_bytes", "nbytes")

    def __init__(
        self,
        limit: int,
        most_bytes: int = 0,
        footprint: Callable[[V], Footprint] | None = None,
        least: int = 0,
    ) -> None:
        assert limit > 0
        self.limit = limit
        self.most_bytes = most_bytes
        self.least = least
        self.nbytes = 0  # of all values together
        self._footprint = footprint
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._parts: dict[Hashable, dict[int, int]] = {}  # of each value; empty where nothing says
        self._users: dict[int, int] = {}  # how many values have a part

    def get(self, key: Hashable) -> V | None:
        """The value of `key`, used most recently from now on; None if it is not kept."""
        with _lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
        return found

    def put(self, key: Hashable, value: V) -> V:
        """Keep `value` and give it back."""
        dropped: list[V] = []  # freed after the lock is: what a kernel's end needs may take long
        parts = {} if self._footprint is None else dict(self._footprint(value))
        if not self.least and sum(parts.values()) > self.most_bytes:
            return value
        with _lock:
            if key in self._values:
                dropped.append(self._removed(key))
            self._values[key] = value
            if self._footprint is not None:
                self._parts[key] = parts
                for where, size in parts.items():
                    self._users[where] = self._users.get(where, 0) + 1
                    self.nbytes += size if self._users[where] == 1 else 0
            while self._is_full():
                dropped.append(self._removed(next(iter(self._values))))
        del dropped
        return value

    def clear(self) -> None:
        """Forget everything."""
        with _lock:
            dropped, self._values, self.nbytes = self._values, OrderedDict(), 0
            self._parts, self._users = {}, {}
        del dropped

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Hashable]:
        """The keys, the least recently used first."""
        with _lock:
            return iter(list(self._values))

    def _is_full(self) -> bool:
        count = len(self._values)
        return count > self.limit or (self.nbytes > self.most_bytes and count > self.least)

    def _removed(self, key: Hashable) -> V:
        for where, size in self._parts.pop(key, {}).items():
            self._users[where] -= 1
            if not self._users[where]:
                del self._users[where]
                self.nbytes -= size
        return self._values.pop(key)
