"""Files that are read whole, large ones by two threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Thread
from typing import Final

import numpy as np

from ..native.pointers import address_of

ALIGNMENT: Final = 64  # of the memory, and of every array of an artifact in it
_MIN_PARALLEL_BYTES: Final = 1 << 24  # bytes, from which on there are two threads
_CHUNK_BYTES: Final = 1 << 20  # bytes, which stay in a second-level cache for who looks at them next
Watch = Callable[[int, memoryview], object]


def aligned_memory(size: int) -> memoryview:
    """New memory of `size` bytes, which begins at a multiple of ALIGNMENT."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    begin = -address_of(memory) % ALIGNMENT
    return memory[begin : begin + size].data


def read_whole(path: str | os.PathLike[str], watch: Watch | None = None) -> memoryview:
    """The bytes of a file.  `watch` is called with the number of a half, 0 or 1, and each part of it in order.

    Raises OSError, also for a file that becomes shorter meanwhile.
    """
    with open(path, "rb", buffering=0) as file:
        memory = aligned_memory(os.fstat(file.fileno()).st_size)

        def read(begin: int, part: memoryview) -> None:
            filled = 0
            while filled < len(part):
                count = os.preadv(file.fileno(), [part[filled:]], begin + filled)
                if count <= 0:
                    raise OSError(f"{os.fspath(path)} has become shorter")
                filled += count

        _in_halves(memory, watch, read)
    return memory


def visit_content(content: memoryview, watch: Watch) -> None:
    """Call `watch` as `read_whole` does."""
    _in_halves(content, watch, lambda begin, part: None)


def _in_halves(content: memoryview, watch: Watch | None, read: Callable[[int, memoryview], None]) -> None:
    half = len(content) // 2
    failures: list[OSError] = []

    def work(number: int) -> None:
        last = len(content) if number else half
        try:
            for begin in range(half if number else 0, last, _CHUNK_BYTES):
                part = content[begin : min(begin + _CHUNK_BYTES, last)]
                read(begin, part)
                if watch is not None:
                    watch(number, part)
        except OSError as failure:
            failures.append(failure)

    beside = (
        Thread(target=work, args=(1,), name="opgen-read") if len(content) >= _MIN_PARALLEL_BYTES else None
    )
    if beside is not None:
        beside.start()
    work(0)
    if beside is None:
        work(1)
    else:
        beside.join()
    if failures:
        raise failures[0]
