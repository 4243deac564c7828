"""Many threads: first calls of the same and of different ops at once, then all ops from all threads, bit for bit.

`python -m tests.stress.threads SEED` is one process.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable

import numpy as np

import opgen_runtime as rt
from opgen_runtime.codegen.objects import threads
from tests.campaign import Tally
from tests.stress._process import fresh, in_threads, repeated

_THREADS = 6
_CALLS = 40  # a thread, after the first ones
_UNARY = (
    "relu",
    "exp",
    "tanh",
    "negative",
    "floor",
    "sqrt",
    "abs",
    "sin",
    "cos",
    "square",
    "log1p",
    "expm1",
    "ceil",
)
_BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "divide", "power")

Call = Callable[[], np.ndarray]


def _calls(choose: random.Random) -> list[Call]:
    """Calls of ops that this process has not used."""
    made: list[Call] = []
    for _ in range(8):
        shape = choose.choice(((7,), (3, 5), (300, 200), (1 << 19,)))
        data = np.random.default_rng(choose.randrange(1 << 30)).uniform(0.1, 2, shape).astype(np.float32)
        if choose.random() < 0.6:
            name = choose.choice(_UNARY)
            made.append(lambda name=name, data=data: rt.eager.op(name)(data))
        else:
            name = choose.choice(_BINARY)
            made.append(lambda name=name, data=data: rt.eager.op(name)(data, data[..., ::-1]))
    data = np.arange(600, dtype=np.float32).reshape(20, 30)
    jitted = rt.jit(lambda x: rt.ops.exp(x * 0.01) + rt.ops.sum(x))
    made.append(lambda: jitted(data))
    made.append(lambda: getattr(rt.eager, "softmax")(data))  # noqa: B009  # through the lazy namespace
    made.append(lambda: rt.eager.op("matmul")(data, data.T))
    return made


def problems(seed: int) -> list[str]:
    """What went wrong with the calls of this process."""
    choose = random.Random(seed)
    threads.set_num_threads(choose.choice((1, 2, 3, 9)))
    calls = _calls(choose)
    first: list[dict[int, np.ndarray]] = [{} for _ in range(_THREADS)]
    found: list[str] = []
    start = threading.Barrier(_THREADS)

    def use(number: int) -> None:
        own = random.Random(seed * 100 + number)
        order = list(range(len(calls)))
        if number % 2:
            own.shuffle(order)  # the others meet in the same call
        try:
            start.wait()
            for k in order:
                first[number][k] = calls[k]()
            for _ in range(_CALLS):
                k = own.randrange(len(calls))
                if calls[k]().tobytes() != first[number][k].tobytes():
                    found.append(f"thread {number}: call {k} gives other bits")
        except Exception as error:  # whatever it is, it is a failure of the call
            found.append(f"thread {number}: {error!r}")

    in_threads(_THREADS, use)
    if not found:
        for number, results in enumerate(first):
            found += [
                f"thread {number}: call {k} differs from thread 0's"
                for k, result in results.items()
                if result.tobytes() != first[0][k].tobytes()
            ]
    return found


def run(seconds: float, seed: int) -> Tally:
    """Processes until the time is over; `tried` counts calls."""
    return repeated(
        seconds, seed, lambda number: (_THREADS * (_CALLS + 11), fresh("tests.stress.threads", number))
    )


if __name__ == "__main__":
    for problem in problems(int(sys.argv[1])):
        print(problem, flush=True)
