"""A process whose free address space is scattered, as beside large libraries and files that are mapped."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_APART: Final = 4 << 30  # bytes between free pages: more than any relative address of 32 bits reaches
_FIRST, _LAST = 1 << 16, 0x7FFF_FFFF_F000  # what a process of x86-64 may map
_STACK: Final = 64 << 20  # bytes that stay free below the stack, which grows
_RESERVED: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000 | 0x10_0000  # NORESERVE, FIXED_NOREPLACE

_TRIALS: Final = 5
_mmap = ctypes.CDLL(None, use_errno=True).mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


def scatter(pages: int, large: int) -> None:
    """Reserve what is free but for `pages` single pages, far apart, and below them one block of `large` bytes.

    The kernel serves from the top: a mapping of one page gets one of the pages, any other a part of the block.  For
    processes of their own, on Linux and x86-64: nothing gives the reservations back.
    """
    for _ in range(_TRIALS):
        with suppress(
            FileExistsError
        ):  # a gap was mapped since it was seen; what is reserved by now is none any more
            _scatter(pages, large)
            return
    raise OSError(f"the address space changed {_TRIALS} times while its gaps were reserved")


def _scatter(pages: int, large: int) -> None:
    *others, (first, last) = sorted(_gaps(), key=lambda gap: gap[1] - gap[0])
    for gap in others:
        _reserve(*gap)
    for _ in range(pages):
        _reserve(last - _APART, last)
        last -= _APART + mmap.PAGESIZE
    _reserve(last - _APART, last)
    last -= _APART + large
    _reserve(first, last)


def _gaps() -> Iterator[tuple[int, int]]:
    end = _FIRST
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, *_ = line.split()
        first, last = (int(each, 16) for each in place.split("-"))
        if last > _LAST:
            break
        below = _STACK if line.endswith("[stack]") else 0
        if first - below > end:
            yield end, first - below
        end = last
    if end < _LAST:
        yield end, _LAST


def _reserve(first: int, last: int) -> None:
    got = _mmap(first, last - first, 0, _RESERVED, -1, 0)
    if got != first:
        raise OSError(ctypes.get_errno(), f"{first:x}-{last:x} cannot be reserved")
