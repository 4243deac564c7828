"""Forks while other threads compile, run, load ops and free buffers; each child compiles, runs and loads, too.

Each process takes its time over the import of one module of the runtime, so that some forks meet it half imported.
What the load itself imports, it imports before any thread starts: no library can guard the imports of its callers.

`python -m tests.stress.fork COUNT SEED` prints a line for each child that hangs or is wrong; a child that hangs first
writes its stack to the error stream.
"""

from __future__ import annotations

import faulthandler
import importlib.abc
import itertools
import os
import random
import signal
import sys
import threading
import time
import warnings

import numpy as np
import numpy.testing  # numpy imports it at its first use

import opgen_runtime as rt
from opgen_runtime.codegen.objects import threads
from opgen_runtime.run.compile.pipeline import forget_kernels
from tests.campaign import Tally
from tests.stress._process import fresh, repeated

_CHILD = 60  # seconds that a child may take; it takes half of one
_FORKS = 20  # a process
_SLOW_IMPORT = 0.5  # seconds
# What the runtime imports late; a child needs the same module at once.
_LATE_MODULES = (
    "opgen_runtime.run.executor",
    "opgen_runtime.transform.fuse_ops",
    "opgen_runtime.ops._{late}",
    "importlib.metadata",
)
_PLAIN = (
    "relu",
    "exp",
    "tanh",
    "sigmoid",
    "negative",
    "floor",
    "sqrt",
    "abs",
    "erf",
    "silu",
    "mish",
    "softsign",
)
_LATE = (
    "trunc",
    "ceil",
    "round",
    "square",
    "cos",
    "sin",
    "atan",
    "log1p",
    "expm1",
    "softplus",
    "sinh",
    "cosh",
)


class _Slow(importlib.abc.MetaPathFinder):
    """Finds nothing, and takes its time over one name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == self._name:
            time.sleep(_SLOW_IMPORT)


def _compile(choose: random.Random) -> None:
    """A kernel of a shape that has not been seen, checked where numpy has the function."""
    shape = (choose.randint(1, 60), choose.randint(1, 500))
    data = np.linspace(0.1, 3, shape[0] * shape[1], dtype=np.float32).reshape(shape)
    name = choose.choice(_PLAIN)
    found = rt.eager.op(name)(data)
    if name in ("exp", "tanh", "negative", "floor", "sqrt", "abs"):
        np.testing.assert_allclose(found, getattr(np, name)(data), rtol=1e-5)


_large = np.linspace(-1, 1, 400_000, dtype=np.float32)  # shared by the pool, and by its size a kept buffer


def _run() -> None:
    """An old kernel, in parallel."""
    found = rt.eager.op("relu")(_large)
    assert (found == np.maximum(_large, 0)).all()


def _traced() -> None:
    found = rt.jit(lambda x: rt.ops.exp(x) + x)(np.ones(3, np.float32))
    np.testing.assert_allclose(found, np.e + 1, rtol=1e-5)


def _child(seed: int, late: str) -> int:
    signal.alarm(_CHILD)
    faulthandler.dump_traceback_later(_CHILD - 2)
    choose = random.Random(seed)
    _traced()
    rt.eager.op(late)(np.ones(7, np.float32))
    _run()
    forget_kernels()
    _compile(choose)
    _traced()
    _run()
    return 0


def forks(count: int, seed: int) -> list[str]:
    """What went wrong in `count` forks of this process under load."""
    warnings.simplefilter(
        "ignore", DeprecationWarning
    )  # of Python 3.12: that a process of several threads forks
    first = _LATE[seed % len(_LATE)]
    sys.meta_path.insert(0, _Slow(_LATE_MODULES[seed % len(_LATE_MODULES)].format(late=first)))
    threads.set_num_threads(3)
    over = threading.Event()
    problems: list[str] = []
    numbers = itertools.count(seed * 1000)

    def load(step: int) -> None:
        choose = random.Random(next(numbers))
        late = itertools.cycle((first, *choose.sample(_LATE, len(_LATE))))
        while not over.is_set():
            try:
                if step == 0:
                    _compile(choose)
                elif step == 1:
                    _run()
                elif step == 2:
                    rt.eager.op(next(late))(np.ones(choose.randint(1, 2000), np.float32))
                else:
                    _traced()
            except Exception as error:  # whatever it is, the load must not end unseen
                problems.append(f"in the parent: {error!r}")
                return

    loads = [threading.Thread(target=load, args=(step,), daemon=True) for step in (0, 0, 1, 2, 3)]
    for thread in loads:
        thread.start()
    choose = random.Random(seed)
    for number in range(count):
        time.sleep(choose.random() * 0.05)
        late = choose.choice(_LATE) if number > 5 else first
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = _child(seed * 1000 + number, late)
            finally:
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(ended)
        if code:
            problems.append(
                f"fork {number} of seed {seed}: " + ("hangs" if code == -signal.SIGALRM else f"status {code}")
            )
    over.set()
    for thread in loads:
        thread.join()
    return problems


def driven(count: int, seed: int) -> list[str]:
    """`forks` in a process of its own."""
    return fresh("tests.stress.fork", count, seed, seconds=_CHILD * (count + 2))


def run(seconds: float, seed: int) -> Tally:
    """Processes of many forks until the time is over; `tried` counts forks."""
    return repeated(seconds, seed, lambda number: (_FORKS, driven(_FORKS, number)))


if __name__ == "__main__":
    for problem in forks(int(sys.argv[1]), int(sys.argv[2])):
        print(problem, flush=True)
