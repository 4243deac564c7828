"""Code is unloaded beside threads that run it: functions are replaced and caches of two values emptied meanwhile.

`python -m tests.stress.unloading SEED` is one process.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import opgen_runtime as rt
from opgen_runtime.codegen.objects import threads
from opgen_runtime.run.compile.pipeline import forget_kernels
from tests.campaign import Tally
from tests.stress._process import fresh, in_threads, repeated
from tests.stress.memory import shrink

_THREADS: Final = 4
_STEPS: Final = 60  # of a thread
_SHAPES: Final = (
    (3,),
    (2, 5),
    (1 << 17,),
    (300, 400),
)  # the large ones release the interpreter and use the pool
_EAGER: Final = ("exp", "tanh", "sqrt", "square")

Scaled = tuple[float, Callable[[Any], Any]]


def scaled(factor: float) -> Scaled:
    """A function with its factor."""
    if factor > 1.5:  # several kernels and a driver
        return factor, rt.jit(lambda x: np.cumsum(x * factor, 0) * 0 + np.tanh(x * factor))
    return factor, rt.jit(lambda x: np.tanh(x * factor))


def step(own: random.Random, data: Sequence[np.ndarray], shared: list[Scaled]) -> str:
    """Replaces a function, empties a cache or calls something; what is wrong, or nothing."""
    array = own.choice(data)
    kind = own.random()
    if kind < 0.15:
        shared[own.randrange(len(shared))] = scaled(1 + own.randrange(64) / 64)
    elif kind < 0.2:
        forget_kernels()
    elif kind < 0.3:
        name = own.choice(_EAGER)
        if not np.allclose(rt.eager.op(name)(array), getattr(np, name)(array), rtol=1e-5, atol=1e-6):
            return f"{name} of {array.shape}"
    else:
        factor, function = own.choice(shared)
        for _ in range(own.randint(1, 4)):
            if not np.allclose(function(array), np.tanh(array * np.float32(factor)), rtol=1e-5, atol=1e-6):
                return f"{factor} on {array.shape}"
    return ""


def problems(seed: int) -> list[str]:
    """What went wrong with the calls of this process."""
    choose = random.Random(seed)
    threads.set_num_threads(choose.choice((1, 2, 3)))
    data = [np.random.default_rng(seed).uniform(0.1, 1, shape).astype(np.float32) for shape in _SHAPES]
    shared: list[Scaled] = [scaled(1 + k / 4) for k in range(4)]
    for array in data:
        shared[0][1](array)  # imports what is imported late
    shrink(2)
    found: list[str] = []
    start = threading.Barrier(_THREADS)

    def use(number: int) -> None:
        own = random.Random(seed * 100 + number)
        try:
            start.wait()
            for _ in range(_STEPS):
                wrong = step(own, data, shared)
                if wrong:
                    found.append(f"thread {number}: {wrong} is wrong")
        except Exception as error:  # whatever it is, it is a failure of the call
            found.append(f"thread {number}: {error!r}")

    in_threads(_THREADS, use)
    return found


def run(seconds: float, seed: int) -> Tally:
    """Processes until the time is over; `tried` counts steps."""
    return repeated(
        seconds, seed, lambda number: (_THREADS * _STEPS, fresh("tests.stress.unloading", number))
    )


if __name__ == "__main__":
    for problem in problems(int(sys.argv[1])):
        print(problem, flush=True)
