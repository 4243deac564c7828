"""Memory of compiled code: many functions made and dropped, many shapes of one function.

Once the caches are full, memory and the maps of the process stay as they are.  `python -m tests.stress memory --count
20000 --minutes 60` is the law with the caches as users have them; fewer have caches that are so small that they fill.
`python -m tests.stress.memory KIND SEED COUNT SECONDS` is one process.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import opgen_runtime as rt
from opgen_runtime.base.lru_cache import LRUCache
from opgen_runtime.run.compile import specialisations
from tests.campaign import Tally

COUNT: Final = 20_000  # functions, or shapes, of which the caches as users have them become full
_FEW: Final = 2_000
_CALLS: Final = 3  # of each: the third goes through its entry
_BYTES: Final = 1024  # that one function more may leave behind
_ROOM: Final = (
    1 << 20
)  # bytes that a heap may grow by at once: the table of interned strings doubles by .6 MiB
_MAPS: Final = 4
_UNARY: Final = ("exp", "tanh", "sqrt", "abs", "sin")
_DATA: Final = np.linspace(0.1, 0.9, 48, dtype=np.float32).reshape(6, 8)


@dataclass(frozen=True)
class Figures:
    """What a process takes after it has made so many functions: bytes in memory, of its C heap, and maps."""

    made: int
    resident: int
    heap: int
    maps: int

    def __str__(self) -> str:
        return (
            f"{self.made:>6,} made: {self.resident / 2**20:7.2f} MiB in memory, {self.heap / 2**20:6.2f} MiB of it"
            f" in the C heap, {self.maps:,} maps"
        )


class _Mallinfo(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "used",
            "free",
            "top",
        )
    )


def measured(made: int) -> Figures:
    """The figures of this process, without what Python would collect."""
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    resident = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS"))
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    heap = 0
    if mallinfo is not None:
        mallinfo.restype = _Mallinfo
        info = mallinfo()
        heap = info.used + info.hblkhd
    maps = len(Path("/proc/self/maps").read_text(encoding="utf-8").splitlines())
    return Figures(made, resident, heap, maps)


def functions(choose: random.Random) -> Iterator[str]:
    """Functions of one chain of ops and some constants each, none like another; each is called and dropped."""
    number = 0
    while True:
        names = [choose.choice(_UNARY) for _ in range(choose.randint(1, 3))]
        factor, term = 0.25 + number / 2**20, choose.random()  # small: exp of exp of exp magnifies roundings

        def chain(x: Any, lib: Any, names: list[str] = names, f: float = factor, t: float = term) -> Any:
            for name in names:
                x = getattr(lib, name)(x) * f + t
            return x

        compiled = rt.jit(lambda x, chain=chain: chain(x, np))  # type: ignore[misc]  # numpy's functions take tracers
        results = [compiled(_DATA) for _ in range(_CALLS)]
        expected = chain(_DATA, np)
        wrong = [found for found in results if not np.allclose(found, expected, rtol=1e-5, atol=1e-5)]
        yield f"function {number}, {names}: wrong" if wrong else ""
        number += 1


def shapes(choose: random.Random) -> Iterator[str]:
    """One function on arrays of ever other shapes, of 1 KiB and more: numpy keeps smaller memory, by its size."""
    compiled = rt.jit(lambda x: np.exp(x) * 2.5 + 1)
    number = 0
    while True:
        shape = (1 + number // 200, 300 + number % 200)
        array = np.full(shape, choose.random(), np.float32)
        expected = np.exp(array) * 2.5 + 1
        results = [compiled(array) for _ in range(_CALLS)]
        wrong = [found for found in results if not np.allclose(found, expected, rtol=1e-5)]
        yield f"shape {shape}: wrong" if wrong else ""
        number += 1


KINDS: Final[dict[str, Callable[[random.Random], Iterator[str]]]] = {"functions": functions, "shapes": shapes}


def shrink(entries: int) -> None:
    """Let the caches of this process hold so many values each, from now on."""
    make = LRUCache.__init__

    def smaller(self: LRUCache[Any], limit: int, *rest: Any, **named: Any) -> None:
        make(self, min(limit, entries), *rest, **named)

    LRUCache.__init__ = smaller  # type: ignore[method-assign]
    for each in gc.get_objects():
        if isinstance(each, LRUCache):
            each.limit = min(each.limit, entries)
    os.environ[specialisations.VARIABLE] = str(entries << 15)  # bytes: a program takes about as many


def problems(kind: str, seed: int, count: int, seconds: float) -> Iterator[str]:
    """Makes `count` functions or shapes, fewer where the time is over; lines of figures, then what is wrong."""
    made, end = 0, time.monotonic() + seconds
    trials = KINDS[kind](random.Random(seed))
    next(trials)  # imports what is imported late
    if count < COUNT:
        shrink(max(8, count // 32))
    known = [measured(0)]
    for mark in (count // 20, count // 8, count // 4, count // 2, count):
        while made < mark and time.monotonic() < end:
            problem = next(trials)
            made += 1
            if problem:
                yield problem
        known.append(measured(made))
        yield f"# {kind}, {known[-1]}"
    yield from _growth(kind, *known[-2:])


def _growth(kind: str, half: Figures, whole: Figures) -> Iterator[str]:
    made = whole.made - half.made
    if not made:
        yield f"{kind}: the time was over after {whole.made:,}"
        return
    for what, before, after in (
        ("memory", half.resident, whole.resident),
        ("the C heap", half.heap, whole.heap),
    ):
        each = (after - before) / made
        yield f"# {kind}, from {half.made:,} to {whole.made:,}: {what} grew by {each:.0f} bytes each"
        if after - before > max(_BYTES * made, _ROOM):
            yield f"{kind}: {what} grew by {each:.0f} bytes each, from {half} to {whole}"
    if whole.maps > half.maps + _MAPS:
        yield f"{kind}: maps grew from {half.maps:,} to {whole.maps:,}"


def run(seconds: float, seed: int, count: int | None = None) -> Tally:
    """A process of each kind, which share the time; `tried` counts functions and shapes."""
    tally = Tally()
    share = seconds / len(KINDS)
    for kind in KINDS:
        wanted = count or _FEW
        arguments = [kind, str(seed), str(wanted), str(share)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.stress.memory", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        for line in done.stdout.splitlines():
            if line.startswith("# "):
                print(line[2:], flush=True)
            else:
                tally.failures.append(line)
        if done.returncode:
            tally.failures.append(f"{kind}: ended with status {done.returncode}")
        tally.tried += wanted
    return tally


if __name__ == "__main__":
    kind, seed, count, seconds = sys.argv[1:]
    for line in problems(kind, int(seed), int(count), float(seconds)):
        print(line, flush=True)
