"""Memory of results: large buffers are kept when their last array is gone, and given out again.

A fresh buffer of 64 MB costs 5 to 50 ms of page faults, several times what an elementwise kernel over it costs, so
reuse decides the speed of large results (docs/performance.md).  A result's `base` is a lease on its buffer; views of
the result, and whatever else keeps it alive, keep the lease, and the buffer returns when the lease dies.

Results begin where a page does.  A processor that compares the last twelve bits of addresses first takes a load for one
of what was just stored where those agree, and waits.  Large arrays of others begin a few bytes into a page, at the same
place as results or behind it, so that a loop that reads as it writes always reads ahead of that.

Once a process has entries, which make large results in machine code, theirs are the only buffers that are kept
(`leases.py`).
"""

from __future__ import annotations

import math
from typing import Final, Protocol

import numpy as np

from ...base import forks

_lock = forks.lock()  # of all pools

LEAST: Final = 1 << 20  # bytes; below it numpy's own allocation is cheap
KEPT: Final = 1 << 29  # bytes that are kept at most while nobody uses them
ALIGNMENT: Final = 4096  # bytes: a page, and many of a cache line and the widest vector


class Leases(Protocol):
    """Memory of large results that another keeps."""

    @property
    def kept_bytes(self) -> int: ...

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[np.generic], size: int) -> np.ndarray: ...

    def clear(self) -> None: ...


class _Buffer(np.ndarray):
    """A buffer of the pool.  Of a type of its own, so that numpy keeps leases on it as they are."""

    __slots__ = ()


class _Lease(np.ndarray):
    """A view of all of a buffer: the `base` of the one result that lies in it, alive as long as anything of that is."""

    _pool: BufferPool | None = None  # of views of a lease, which nobody is given
    _start = 0  # bytes from the buffer's first one to a page

    def __del__(self) -> None:
        if self._pool is not None:
            assert self.base is not None
            self._pool.give_back(self.base, self._start)


class BufferPool:
    """Buffers by size.  Safe to use from several threads, and from a destructor that runs at any point."""

    def __init__(self, limit: int = KEPT) -> None:
        self._limit = limit
        self._free: dict[int, list[tuple[np.ndarray, int]]] = {}
        self._bytes = 0
        self._leases: Leases | None = None

    def use(self, leases: Leases) -> None:
        """Take large results from there from now on."""
        self._leases = leases
        self._forget()

    @property
    def kept_bytes(self) -> int:
        """Bytes that are kept and in nobody's use."""
        return self._bytes if self._leases is None else self._leases.kept_bytes

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> np.ndarray:
        """A C-contiguous array of undefined content, at the start of a page where it is large."""
        size = math.prod(shape) * dtype.itemsize
        if size < LEAST:
            return np.empty(shape, dtype)
        if self._leases is not None:
            return self._leases.empty(shape, dtype, size)
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
        lease = buffer.view(_Lease)
        lease._pool, lease._start = self, start
        return np.ndarray(shape, dtype, lease, start)

    def give_back(self, buffer: np.ndarray, start: int) -> None:
        """Keep a buffer for the next result of its size, if there is room.

        Destructors come here, at any point of any thread: they must not wait.  Where another thread is busy with the
        pool, the buffer is freed.
        """
        if _lock.acquire(blocking=False):
            try:
                if self._leases is None and self._bytes + buffer.nbytes <= self._limit:
                    self._free.setdefault(buffer.nbytes, []).append((buffer, start))
                    self._bytes += buffer.nbytes
            finally:
                _lock.release()

    def clear(self) -> None:
        """Free what is kept."""
        if self._leases is not None:
            self._leases.clear()
        self._forget()

    def _forget(self) -> None:
        with _lock:
            self._free.clear()
            self._bytes = 0


POOL: Final = BufferPool()
