"""Arrays beside pages that nobody may touch: an access outside of them ends the process."""

from __future__ import annotations

import ctypes
import mmap
from types import TracebackType

import numpy as np

_PROTECT = ctypes.CDLL(None).mprotect
_NONE = 0  # PROT_NONE


class Fenced:
    """An array whose first or last byte lies beside a page that nobody may touch.

    One that is not `writable` lies in pages that may only be read.  The fences go down with `open`, or at the end of a
    `with` block.
    """

    def __init__(self, values: np.ndarray, at_end: bool, writable: bool = True) -> None:
        page = mmap.PAGESIZE
        inside = max(1, -(-values.nbytes // page)) * page
        self._memory = mmap.mmap(-1, inside + 2 * page)
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._inside = inside
        offset = page + (inside - values.nbytes if at_end else 0)
        flat = np.frombuffer(self._memory, np.uint8, values.nbytes or 1, offset - (not values.nbytes))
        self.array = flat[: values.nbytes].view(values.dtype).reshape(values.shape)
        self.array[...] = values
        self._protect(0, page, _NONE)
        self._protect(page, inside, mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0))
        self._protect(page + inside, page, _NONE)

    def _protect(self, first: int, size: int, what: int) -> None:
        done = _PROTECT(ctypes.c_void_p(self._start + first), ctypes.c_size_t(size), what)
        assert done == 0

    def open(self) -> None:
        self._protect(0, self._inside + 2 * mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE)

    def __enter__(self) -> np.ndarray:
        return self.array

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.open()
