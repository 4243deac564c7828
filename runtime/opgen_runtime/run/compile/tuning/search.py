"""The search: one parameter after the other, each at all its legal values, as long as something gains and time is left.

    best = defaults
    repeat: for each parameter, for each value: race best with that value against the defaults; keep what is faster

Values that give the schedule of others that have been raced (their traces are equal) are not raced again.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from tempfile import TemporaryFile
from typing import IO, Any, Final

from .... import ir
from ....base.vocabulary import dataclass
from ....lower.library import schedules
from .records import Record
from .subject import Subject

_ROUNDS: Final = 5  # blocks of a rival
_ROUNDS_AT_LAST: Final = 15  # and of the winner, in a new process
_MAX_TIME_RATIO: Final = 0.97  # of the time: what is not faster by so much is noise
_RACE_SECONDS: Final = 30.0  # one race, compilation included


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search has found: a record where something gains, how many schedules were raced, and what went wrong.

    `failure`: why none could be raced, not even the default schedule; "" where it could.
    """

    record: Record | None
    raced: int
    problems: tuple[str, ...]
    failure: str = ""


@dataclass(slots=True)
class _Search:
    """What is known so far: `ratios` of tuned to default time by trace."""

    ratios: dict[tuple[str, ...], float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def tune(
    subject: Subject, seconds: float, seed: int = 0, progress: Callable[[float, float], None] | None = None
) -> Outcome:
    """The fastest values that are found in about so many seconds.

    `progress` is told the share of the time that has passed and the best ratio of times yet.  Raises nothing for what
    goes wrong in the child: such values are no rivals.
    """
    started = time.monotonic()
    found = _Search()
    best: dict[str, int] = {}
    best_ratio = 1.0

    def left() -> float:
        return seconds - (time.monotonic() - started)

    def tell() -> None:
        if progress is not None:
            progress(min(1.0, 1.0 - left() / seconds), best_ratio)

    with _child(subject) as child:
        base = child.trace({})
        if base is None:
            return Outcome(None, 0, (), child.problem)
        found.ratios[base] = 1.0
        order = random.Random(seed)
        gained = True
        while gained and left() > 0:
            gained = False
            for name, value in _steps(order):
                if left() <= 0:
                    break
                values = {**best, name: value}
                ratio = _raced(child, values, found, min(_RACE_SECONDS, max(1.0, left())))
                if ratio is not None and ratio < best_ratio * _MAX_TIME_RATIO:
                    best, best_ratio, gained = values, ratio, True
                tell()
    record = _confirmed(subject, best) if best else None
    return Outcome(record, len(found.ratios) - 1, tuple(found.problems))


def _steps(order: random.Random) -> Iterator[tuple[str, int]]:
    """Each parameter with each of its values, those of one parameter after the other."""
    parameters = list(schedules.PARAMETERS.values())
    order.shuffle(parameters)
    for parameter in parameters:
        for value in parameter.values:
            yield parameter.name, value


def _raced(child: _Child, values: Mapping[str, int], found: _Search, seconds: float) -> float | None:
    """The ratio of times; None where the schedule was raced before, or something goes wrong."""
    trace = child.trace(values)
    if trace is None:
        found.problems.append(f"{_text(values)}: {child.problem}")
        return None
    if trace in found.ratios:
        return None
    found.ratios[trace] = float("inf")
    answer = child.ask({"race": dict(values), "rounds": _ROUNDS}, seconds)
    if "late" in answer and seconds < _RACE_SECONDS:  # the search is over, which says nothing of the schedule
        del found.ratios[trace]
        return None
    if "problem" in answer:
        found.problems.append(f"{_text(values)}: {answer['problem']}")
        return None
    found.ratios[trace] = answer["tuned"] / answer["default"]
    return found.ratios[trace]


def _confirmed(subject: Subject, values: Mapping[str, int]) -> Record | None:
    """The record of the best values, if they win once more, in a new process, with more rounds."""
    with _child(subject) as child:
        trace = child.trace(values) or ()
        answer = child.ask({"race": dict(values), "rounds": _ROUNDS_AT_LAST}, 2 * _RACE_SECONDS)
    if "problem" in answer or answer["tuned"] >= answer["default"] * _MAX_TIME_RATIO:
        return None
    return Record(
        str(subject),
        str(subject.target),
        ir.structural_digest(subject.function),
        tuple(sorted(subject.constant)),
        dict(sorted(values.items())),
        round(answer["default"], 3),
        round(answer["tuned"], 3),
        trace,
    )


def _text(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


@contextmanager
def _child(subject: Subject) -> Iterator[_Child]:
    with TemporaryFile() as errors:
        child = _Child(subject, errors)
        try:
            yield child
        finally:
            child.end()


class _Child:
    """The process that schedules and times; one that ends or hangs is replaced."""

    def __init__(self, subject: Subject, errors: IO[bytes]) -> None:
        self._subject = subject
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = errors
        self.problem = ""

    def trace(self, values: Mapping[str, int]) -> tuple[str, ...] | None:
        """The trace of a schedule; None where there is none."""
        answer = self.ask({"trace": dict(values)}, _RACE_SECONDS)
        self.problem = answer.get("problem", "")
        return None if self.problem else tuple(answer["trace"])

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a request, or {"problem": why there is none}, with "late" where none came in time."""
        process = self._process or self._start()
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._ended()
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            if not ready.select(seconds):
                self.end()
                return {"problem": f"it took more than {seconds:.0f} s", "late": True}
        line = process.stdout.readline()
        if not line:
            return self._ended()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "OPGEN_TUNED": "",  # what was found before has no part in it
            "OPGEN_NUM_THREADS": str(self._subject.target.num_threads),
        }
        command = [sys.executable, "-m", "opgen_runtime.run.compile.tuning.rival"]
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # of a process that has ended: who asks it is told why
            pickle.dump(self._subject.modules, process.stdin)
            pickle.dump(self._subject, process.stdin)
            process.stdin.flush()
        return process

    def _ended(self) -> dict[str, Any]:
        status = None if self._process is None else self._process.wait()
        self.end()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
        return {"problem": ": ".join([f"the process ended with status {status}", *said])}

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
