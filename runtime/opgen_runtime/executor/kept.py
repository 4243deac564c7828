"""`Kept`: a bounded memory of what was made for a key."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

V = TypeVar("V")


class Kept(Generic[V]):
    """Values by key, at most `limit` of them: a new one beyond that takes the place of the least recently used.

    Threads may share one: each step is a single operation of the dict below.
    """

    __slots__ = ("_values", "limit")

    def __init__(self, limit: int) -> None:
        assert limit > 0
        self.limit = limit
        self._values: OrderedDict[Hashable, V] = OrderedDict()

    def get(self, key: Hashable) -> V | None:
        """The value of `key`, used most recently from now on; None if it is not kept."""
        found = self._values.get(key)
        if found is not None:
            try:
                self._values.move_to_end(key)
            except KeyError:  # another thread has dropped it meanwhile
                return found
        return found

    def put(self, key: Hashable, value: V) -> V:
        """Keep `value` and give it back."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self.limit:
            self._values.popitem(last=False)
        return value

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Hashable]:
        """The keys, the least recently used first."""
        return iter(list(self._values))
