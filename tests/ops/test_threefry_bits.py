"""threefry_bits against the known answers of Random123 (kat_vectors: threefry2x32 20 ...)."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime.ops import threefry_bits
from opgen_runtime.run.executor import create_executor

ONES = 0xFFFFFFFF
# counter, key, the two words
KNOWN = (
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((ONES, ONES), (ONES, ONES), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
)


def words(
    key: tuple[int, int], counter: tuple[int, int], shape: tuple[int, ...], executor: str
) -> np.ndarray:
    operands = [rt.ir.const(np.asarray(pair, np.uint32)) for pair in (key, counter)]
    return create_executor(executor).evaluate(threefry_bits(*operands, shape=shape), {}).numpy()


@pytest.mark.parametrize("executor", ["debug", "graph"])
@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers(
    counter: tuple[int, int], key: tuple[int, int], answer: tuple[int, int], executor: str
) -> None:
    assert tuple(words(key, counter, (2,), executor)) == answer


@pytest.mark.parametrize("executor", ["debug", "graph"])
def test_blocks_are_independent_and_counters_carry(executor: str) -> None:
    together = words((1, 2), (ONES, 5), (2, 3), executor).reshape(-1)
    apart = [words((1, 2), at, (2,), executor) for at in ((ONES, 5), (0, 6), (1, 6))]
    assert np.array_equal(together, np.concatenate(apart))
