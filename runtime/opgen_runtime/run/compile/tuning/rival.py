"""The child: `python -m opgen_runtime.run.compile.tuning.rival`, one kernel, many schedules of it.

It reads the pickled modules of a `Subject`, which declare its ops, then the subject, then requests as lines of JSON,
and answers each with a line.

    {"trace": {parameters}}            -> {"trace": [lines]}
    {"race": {parameters}, "rounds": n} -> {"default": microseconds, "tuned": microseconds}

A race runs the default and the rival in turn on the same arrays, and compares their results.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from .... import ir
from ....base.errors import OpgenError
from ....base.forks import importing
from ....lower.library.segment import flat_types
from ....transform import PassContext
from .. import pipeline
from ..kernel.records import Scheduled
from .subject import Subject

_BLOCK_SECONDS: Final = 0.01
_MAX_CALLS: Final = 5000
_TOLERANCE: Final = {2: 1e-1, 4: 1e-3, 8: 1e-9}  # of sums in another order, by the size of a float


class Stable:
    """One kernel's schedules, each run on the same arrays."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._arrays = list(_arrays(subject.function))

    def trace(self, parameters: Mapping[str, int]) -> list[str]:
        """The trace of the schedule that these values give; nothing where there is no schedule."""
        subject = self._subject
        request = pipeline.requested(
            subject.function, subject.target.tuned_to(parameters), PassContext(), subject.constant
        )
        *_, (_, record) = pipeline.through_kernel(request, pipeline.upto("schedule"))
        return str(record.schedule.trace).splitlines() if isinstance(record, Scheduled) else []

    def race(self, parameters: Mapping[str, int], rounds: int) -> dict[str, float]:
        """Microseconds of a run by default and with these values: the least of so many blocks of each, in turn."""
        runs = {"default": self.runs({}), "tuned": self.runs(parameters)}
        results = [run() for run in runs.values()]
        _check_equal(*results)
        clock = time.process_time if self._subject.target.num_threads == 1 else time.perf_counter
        least: dict[str, float] = {}
        for _ in range(rounds):
            for name, run in runs.items():
                seconds = _seconds(run, clock)
                least[name] = min(seconds, least.get(name, seconds))
        return {name: seconds * 1e6 for name, seconds in least.items()}

    def runs(self, parameters: Mapping[str, int]) -> Callable[[], Sequence[np.ndarray]]:
        """The kernel with these values, on the arrays; what is constant is prepared."""
        subject = self._subject
        parts = pipeline.compile_parts(
            subject.function, subject.constant, subject.target.tuned_to(parameters), PassContext()
        )
        precomputed = (
            []
            if parts.precompute is None
            else parts.precompute.run([self._arrays[k] for k in parts.constants])
        )
        given = [*[self._arrays[k] for k in parts.operands], *precomputed]
        return lambda: parts.main.run(given)


def _arrays(function: ir.Function) -> Iterator[np.ndarray]:
    """Seeded operands: floats are normal, whole numbers 0 or 1, so that they are positions where those are wanted."""
    with importing:
        from numpy.random import default_rng

    generator = default_rng(0)
    for param in function.params:
        for kind in flat_types(param.checked_type, param.name_hint):
            shape, dtype = kind.concrete_shape, kind.dtype.numpy
            if kind.dtype.is_float:
                yield generator.standard_normal(shape).astype(dtype)
            else:
                yield generator.integers(0, 2, shape).astype(dtype)


def _seconds(run: Callable[[], object], clock: Callable[[], float]) -> float:
    """Of one run, over a block of some."""
    calls, start = 0, clock()
    while True:
        run()
        calls += 1
        passed = clock() - start
        if passed > _BLOCK_SECONDS or calls == _MAX_CALLS:
            return passed / calls


def _check_equal(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        if a.dtype.kind in "biu":
            same = np.array_equal(a, b)
        else:
            tolerance = _TOLERANCE.get(a.dtype.itemsize, 1e-1)
            scale = float(np.abs(a.astype(np.float64)).max(initial=1.0))
            same = np.allclose(a.astype(np.float64), b.astype(np.float64), tolerance, tolerance * scale, True)
        if not same:
            raise ArithmeticError("the results differ from those of the default schedule")


def main() -> None:
    for module in pickle.load(sys.stdin.buffer):  # from the parent, which is ours
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            sys.exit(
                f"{error}; install the project of the ops (pip install -e .), or put its folder into PYTHONPATH"
            )
    subject = pickle.load(sys.stdin.buffer)  # finds its ops by name
    assert isinstance(subject, Subject)
    stable = Stable(subject)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer: dict[str, Any]
        try:
            if "trace" in request:
                answer = {"trace": stable.trace(request["trace"])}
            else:
                answer = dict(stable.race(request["race"], request["rounds"]))
        except (OpgenError, ArithmeticError, MemoryError) as error:
            answer = {"problem": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
