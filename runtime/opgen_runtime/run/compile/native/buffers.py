"""Memory of results: large buffers go to a free list when their last array is gone, and are used again.

A fresh buffer of 64 MB costs 5 to 50 ms of page faults, several times what an elementwise kernel over it costs, so
reuse decides the speed of large results (docs/performance.md).  A result's `base` is a view that holds its buffer;
views of the result, and whatever else keeps it alive, keep that view, and the buffer returns to the free list when
it dies.

Results begin where a page does.  A processor that compares the last twelve bits of addresses first takes a load for one
of what was just stored where those agree, and waits.  Large arrays of others begin a few bytes into a page, at the same
place as results or behind it, so that a loop that reads as it writes always reads ahead of that.

Once a process has entries, which make large results in machine code, theirs are the only buffers that are kept
(`output_buffers.py`).
"""

from __future__ import annotations

import ctypes
import math
from typing import Final, Protocol

import numpy as np

from ....base import forks

_lock = forks.lock()  # of all pools

MIN_POOLED_BYTES: Final = 1 << 20  # bytes; below it numpy's own allocation is cheap
MAX_FREE_LIST_BYTES: Final = 1 << 29  # bytes that are kept at most while nobody uses them
ALIGNMENT: Final = 4096  # bytes: a page, and many of a cache line and the widest vector


class OutputBuffers(Protocol):
    """Memory of large results that another keeps."""

    @property
    def free_list_bytes(self) -> int: ...

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[np.generic], size: int) -> np.ndarray: ...

    def clear(self) -> None: ...


class _Buffer(np.ndarray):
    """A buffer of the pool.  Of a type of its own, so that numpy keeps views that hold it as they are."""

    __slots__ = ()


class _OutputBuffer(np.ndarray):
    """A view of all of a buffer: the `base` of the one result that lies in it, alive as long as anything of that is."""

    _pool: BufferPool | None = None  # of views of such a view, which nobody is given
    _start = 0  # bytes from the buffer's first one to a page

    def __del__(self) -> None:
        if self._pool is not None:
            assert self.base is not None
            self._pool.give_back(self.base, self._start)


class BufferPool:
    """Buffers by size.  Safe to use from several threads, and from a destructor that runs at any point."""

    def __init__(self, limit: int = MAX_FREE_LIST_BYTES) -> None:
        self._limit = limit
        self._free: dict[int, list[tuple[np.ndarray, int]]] = {}
        self._bytes = 0
        self._output_buffers: OutputBuffers | None = None

    def use(self, output_buffers: OutputBuffers) -> None:
        """Take large results from there from now on."""
        self._output_buffers = output_buffers
        self._forget()

    @property
    def free_list_bytes(self) -> int:
        """Bytes that are kept and in nobody's use."""
        return self._bytes if self._output_buffers is None else self._output_buffers.free_list_bytes

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> np.ndarray:
        """A C-contiguous array of undefined content, at the start of a page where it is large."""
        size = math.prod(shape) * dtype.itemsize
        if size < MIN_POOLED_BYTES:
            return np.empty(shape, dtype)
        if self._output_buffers is not None:
            return self._output_buffers.empty(shape, dtype, size)
        capacity = size + ALIGNMENT
        with _lock:
            waiting = self._free.get(capacity)
            kept = waiting.pop() if waiting else None
            if kept is not None:
                self._bytes -= capacity
        if kept is None:
            memory: np.ndarray = _Buffer((capacity,), np.uint8)
            kept = memory, -memory.ctypes.data % ALIGNMENT
        buffer, start = kept
        output_buffer = buffer.view(_OutputBuffer)
        output_buffer._pool, output_buffer._start = self, start
        return np.ndarray(shape, dtype, output_buffer, start)

    def give_back(self, buffer: np.ndarray, start: int) -> None:
        """Keep a buffer for the next result of its size, if there is room.

        Destructors come here, at any point of any thread: they must not wait.  Where another thread is busy with the
        pool, the buffer is freed.
        """
        if _lock.acquire(blocking=False):
            try:
                if self._output_buffers is None and self._bytes + buffer.nbytes <= self._limit:
                    self._free.setdefault(buffer.nbytes, []).append((buffer, start))
                    self._bytes += buffer.nbytes
            finally:
                _lock.release()

    def clear(self) -> None:
        """Free what is kept."""
        if self._output_buffers is not None:
            self._output_buffers.clear()
        self._forget()

    def _forget(self) -> None:
        with _lock:
            self._free.clear()
            self._bytes = 0


POOL: Final = BufferPool()


def is_result(array: np.ndarray) -> bool:
    """Whether an array without memory of its own is a large result, whole: nobody else has its memory."""
    base = array.base
    if type(base) is _OutputBuffer:
        return True
    if type(base).__name__ != "PyCapsule":
        return False
    other = POOL.empty((MIN_POOLED_BYTES,), np.dtype(np.uint8)).base
    return type(other) is type(base) and _destructor(base) == _destructor(other)


def _destructor(capsule: object) -> int | None:
    """The address of what ends a capsule: our own are told by that."""
    function = ctypes.pythonapi.PyCapsule_GetDestructor
    function.argtypes, function.restype = (ctypes.py_object,), ctypes.c_void_p
    found: int | None = function(capsule)
    return found
