"""Memory of kernels: a block that was given back is taken again, and no two hold one block at once."""

from __future__ import annotations

import ctypes
import itertools
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from opgen_runtime.codegen.objects import temporaries
from opgen_runtime.codegen.objects.support import load_module

Take, Give = Callable[[int], int | None], Callable[[int | None], None]
MIB = 1 << 20
_numbers = itertools.count()


@pytest.fixture
def functions() -> tuple[Take, Give]:
    """A module of its own, which no kernel of the process uses."""
    found = load_module(f"temporaries {next(_numbers)}", temporaries.module_text(), temporaries.SYMBOLS, None)
    take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(found[temporaries.TAKE])
    give = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(found[temporaries.GIVE])
    return take, give


def test_the_next_one_takes_what_was_given_back(functions: tuple[Take, Give]) -> None:
    take, give = functions
    first = take(MIB)
    assert first is not None
    assert first % 64 == 0
    give(first)
    assert take(MIB - 64) == first
    other = take(MIB)
    assert other != first
    give(other)
    give(first)
    assert take(MIB // 8) not in (first, other)  # much memory for little
    give(None)


def test_what_cannot_be_had_is_null(functions: tuple[Take, Give]) -> None:
    assert functions[0](1 << 60) is None


def test_threads_never_share_a_block(functions: tuple[Take, Give]) -> None:
    take, give = functions

    def work(seed: int) -> bool:
        chance, sound = random.Random(seed), True
        for turn in range(200):
            size = chance.choice((100, 70_000, 80_000, 200_000, MIB))
            block = take(size)
            assert block is not None
            mark = (seed * 1000 + turn).to_bytes(8, "little")
            ctypes.memmove(block, mark, 8)
            ctypes.memmove(block + size - 8, mark, 8)
            sound &= ctypes.string_at(block, 8) == mark == ctypes.string_at(block + size - 8, 8)
            give(block)
        return sound

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))
