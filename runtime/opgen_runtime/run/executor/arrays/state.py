"""`State`: a tensor that grows within memory of its own.

keys = State((1, 8, 64), axis=2, capacity=1024)      # [1, 8, n, 64], n = 0
program([tokens, keys])                              # where the program gives concatenate((keys, new), axis=2),
keys.length, keys.value.shape                        # only `new` is computed and written, and the length grows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from ....base.errors import ExecutorError
from ....base.vocabulary import DType


class State:
    """A tensor that grows along one axis, in memory for `capacity` elements of that.

    Its memory has the shape with the capacity along the axis, so that appending moves nothing that is there.  It is
    passed to a program in the place of an array that the program gives back with more behind it along the axis.  Its
    memory is its own: `value` is a view that cannot be written.  One call at a time may have it.
    """

    __slots__ = ("_buffer", "_length", "_lock", "_ticks", "axis")

    def __init__(self, shape: Sequence[int], axis: int, capacity: int, dtype: object = "float32") -> None:
        """Of no elements.  `shape`: without the axis, which is one of the result's.

        Raises ExecutorError for an axis that is none, and for extents below 0.
        """
        rank = len(shape) + 1
        if not -rank <= axis < rank:
            raise ExecutorError(f"a state of rank {rank} has no axis {axis}")
        if capacity < 0 or any([extent < 0 for extent in shape]):
            raise ExecutorError(
                f"a state of shape {list(shape)} and capacity {capacity}: expected none below 0"
            )
        self.axis = axis % rank
        kind = dtype.numpy if isinstance(dtype, DType) else np.dtype(dtype)  # type: ignore[call-overload]
        whole = (*shape[: self.axis], capacity, *shape[self.axis :])
        self._buffer: np.ndarray = np.empty(whole, kind)
        self._ticks = np.zeros(capacity, np.uint8)  # as many of which tell a program the length
        self._length = 0
        self._lock = Lock()

    @classmethod
    def of(cls, array: np.ndarray, axis: int, capacity: int) -> State:
        """A state that begins with the elements of an array.  Raises ExecutorError where it has no room for them."""
        array = np.asarray(array)
        if not -array.ndim <= axis < array.ndim:
            raise ExecutorError(f"an array of shape {list(array.shape)} has no axis {axis}")
        axis %= array.ndim
        made = cls((*array.shape[:axis], *array.shape[axis + 1 :]), axis, capacity, array.dtype)
        made.append(array)
        return made

    def __repr__(self) -> str:
        return f"State({self.dtype.name}{list(self.shape)}, axis={self.axis}, capacity={self.capacity})"

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._buffer.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its value."""
        whole = self._buffer.shape
        return (*whole[: self.axis], self._length, *whole[self.axis + 1 :])

    @property
    def capacity(self) -> int:
        """The most elements that it may have along the axis."""
        extent: int = self._buffer.shape[self.axis]
        return extent

    @property
    def length(self) -> int:
        """How many elements it has along the axis."""
        return self._length

    @property
    def value(self) -> np.ndarray:
        """Its elements: a view that cannot be written, and sees what is written after `reset` or `truncate`."""
        view = self._part(0, self._length)
        view.flags.writeable = False
        return view

    def append(self, array: np.ndarray) -> None:
        """Put the elements of an array behind its own.

        Raises ExecutorError where dtype or shape are others, where it has no room, and where a program has it.
        """
        array = np.asarray(array)
        fits = array.ndim == self._buffer.ndim and all(
            a == b
            for k, (a, b) in enumerate(zip(array.shape, self._buffer.shape, strict=True))
            if k != self.axis
        )
        if not fits or array.dtype != self.dtype:
            raise ExecutorError(f"{self!r} takes no {array.dtype.name}{list(array.shape)}")
        with Held({"the state": self}):
            end = self._length + array.shape[self.axis]
            self._check_room(end)
            self._part(self._length, end)[...] = array
            self._length = end

    def truncate(self, length: int) -> None:
        """Forget all elements from a position on.  Raises ExecutorError where it has fewer, and as `append`."""
        if not 0 <= length <= self._length:
            raise ExecutorError(f"{self!r} cannot be cut to {length}: expected 0 to {self._length}")
        with Held({"the state": self}):
            self._length = length

    def reset(self) -> None:
        """Forget all elements.  Raises ExecutorError while a program has it."""
        self.truncate(0)

    def copy(self) -> State:
        """Another state of the same elements, in memory of its own."""
        return State.of(self.value, self.axis, self.capacity)

    def _part(self, begin: int, end: int) -> np.ndarray:
        return self._buffer[(slice(None),) * self.axis + (slice(begin, end),)]

    def _check_room(self, end: int) -> None:
        if end > self.capacity:
            raise ExecutorError(
                f"{self!r} has no room: its length would be {end}; "
                "`State.of(state.value, axis, capacity)` makes a larger one"
            )


class Held:
    """States by name that are one call's while it runs.  Raises ExecutorError where another call has one."""

    def __init__(self, states: Mapping[str, State]) -> None:
        self.states = states
        self.taken: list[State] = []

    def __enter__(self) -> None:
        for name, state in self.states.items():
            if not state._lock.acquire(blocking=False):
                twice = any([state is other for other in self.taken])
                where = "is given twice" if twice else "is in use by another call"
                self.__exit__()
                raise ExecutorError(f"{name}: {state!r} {where}")
            self.taken.append(state)

    def __exit__(self, *_: object) -> None:
        while self.taken:
            self.taken.pop()._lock.release()
