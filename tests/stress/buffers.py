"""Memory of large results: no result shares memory with another or changes after the fact, and memory goes back.

`python -m tests.stress.buffers SEED` is one process.
"""

from __future__ import annotations

import gc
import random
import sys
import threading
from pathlib import Path

import numpy as np

from opgen_runtime.codegen.objects import threads
from opgen_runtime.run.calls import eager
from opgen_runtime.run.compile.native.buffers import MAX_FREE_LIST_BYTES, POOL
from tests.campaign import Tally
from tests.stress._process import fresh, repeated

_CALLS = 150
_SIZES = (1 << 18, (1 << 18) + 1, 1 << 19, 3 << 18)  # float32, so from 1 MiB on
_LIVE = 20  # results that a thread keeps at most: 60 MiB


def _use(number: int, seed: int, found: list[str]) -> None:
    choose = random.Random(seed * 100 + number)
    live: list[
        tuple[np.ndarray, float]
    ] = []  # results, or views of them, and the value that they are full of
    for k in range(_CALLS):
        value = float(number * _CALLS + k + 1)
        size = choose.choice(_SIZES)
        result = eager.op("add")(np.full(size, value, np.float32), np.float32(0))
        for other, _ in live:
            if np.shares_memory(result, other):
                found.append(f"thread {number}, call {k}: two results share memory")
        way = choose.randrange(4)
        kept = (result, result[::3], result.reshape(-1, 1).T, memoryview(result))[way]
        live.append((np.asarray(kept), value))
        del result, kept
        while len(live) > choose.randint(1, _LIVE):
            live.pop(choose.randrange(len(live)))
        if k % 10 == 0:
            if not all((array == own).all() for array, own in live):
                found.append(f"thread {number}, call {k}: a result has changed")
            gc.collect()
    if not all((array == own).all() for array, own in live):
        found.append(f"thread {number}: a result has changed")


def problems(seed: int) -> list[str]:
    """What went wrong with the results of a process of several threads."""
    threads.set_num_threads(random.Random(seed).choice((1, 2, 3)))
    found: list[str] = []
    users = [threading.Thread(target=_use, args=(number, seed, found)) for number in range(3)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    gc.collect()
    if POOL.free_list_bytes > MAX_FREE_LIST_BYTES or POOL.free_list_bytes < 0:
        found.append(f"{POOL.free_list_bytes} bytes are kept; at most {MAX_FREE_LIST_BYTES} may be")
    POOL.clear()
    if POOL.free_list_bytes:
        found.append(f"{POOL.free_list_bytes} bytes are kept after they were cleared")
    peak = _peak()
    if peak > 3 * _LIVE * 4 * max(_SIZES) + MAX_FREE_LIST_BYTES + (1 << 29):
        found.append(f"the process took {peak >> 20} MiB")
    return found


def _peak() -> int:
    """The most bytes that this program had in memory; `ru_maxrss` would count those of the process that started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


def run(seconds: float, seed: int) -> Tally:
    """Processes until the time is over; `tried` counts results."""
    return repeated(seconds, seed, lambda number: (3 * _CALLS, fresh("tests.stress.buffers", number)))


if __name__ == "__main__":
    for problem in problems(int(sys.argv[1])):
        print(problem, flush=True)
