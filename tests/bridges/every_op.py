"""Checks of every op: what `torch_ops` and `jax_ops` have in common.

    python -m tests.bridges.torch_ops [OP ...] [--checks NAME,...] [--processes N]

Ops go to processes as these become free.  Prints how the checks of each op went, and why not right, and in the end of
each check how many are right of how many, in which way, its processor time, and for how many it is not meant.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

from opgen_runtime.testing.suite import Suite
from tests.gradients import GENERATED, suites

PROCESSES = 2

T = TypeVar("T")
Check = Callable[[type[Suite]], str]
"""What an op is right in; raises NotMeant, or whatever is wrong."""


class NotMeant(Exception):
    """The check does not apply: the message says why."""


class Verdict(Enum):
    """How a check of an op went; `EXCUSED`: not right, for a reason that is documented or not ours."""

    RIGHT = "right"
    NOT_MEANT = "not meant"
    EXCUSED = "excused"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one check of one op; `text`: in which way it is right, or the reason."""

    check: str
    op: str
    verdict: Verdict
    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Checks:
    """All checks of a bridge, which other processes import; `excuse`: why what was raised is not wrong, or ""."""

    by_name: Mapping[str, Check]
    excuse: Callable[[Exception], str]
    begin: Callable[[], None]

    def outcomes(self, names: Sequence[str], op: str) -> list[Outcome]:
        """Of these checks of one op."""
        (suite,) = suites([op])
        return [self._outcome(name, op, suite) for name in names]

    def _outcome(self, name: str, op: str, suite: type[Suite]) -> Outcome:
        begin = time.process_time()
        try:
            verdict, text = Verdict.RIGHT, self.by_name[name](suite)
        except NotMeant as reason:
            verdict, text = Verdict.NOT_MEANT, str(reason)
        except Exception as error:  # whatever a framework raises is a reason, of which all are printed
            excuse = self.excuse(error)
            first = " ".join(str(error).split())[:300]
            verdict = Verdict.EXCUSED if excuse else Verdict.WRONG
            text = excuse or f"{type(error).__name__}: {first}"
        return Outcome(name, op, verdict, text, time.process_time() - begin)


def each_op(
    work: Callable[[str], T], ops: Sequence[str], processes: int, begin: Callable[[], None] | None = None
) -> Iterator[T]:
    """What `work` gives of each op, of all if none is named, in their order; `begin` is called in each process."""
    known = sorted([path.stem.removeprefix("test_") for path in GENERATED.glob("test_*.py")])
    with ProcessPoolExecutor(processes, get_context("spawn"), begin) as pool:
        yield from pool.map(work, [name for name in known if not ops or name in ops])


def summary(check: str, outcomes: Iterable[Outcome]) -> str:
    """One line of all outcomes of a check."""
    own = [each for each in outcomes if each.check == check]
    right = Counter([each.text for each in own if each.verdict is Verdict.RIGHT])
    not_meant = Counter([each.text for each in own if each.verdict is Verdict.NOT_MEANT])
    seconds = sum([each.seconds for each in own])
    parts = [
        f"{right.total()} of {len(own) - not_meant.total()} ops, {seconds:.0f} s of processor time",
        *[f"{number} {way}" for way, number in right.items()],
        *[f"not meant for {number}: {why}" for why, number in not_meant.items()],
    ]
    return f"{check}: {'; '.join(parts)}"


def parser(description: str | None) -> argparse.ArgumentParser:
    """Takes ops and how many processes there are."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("ops", nargs="*")
    made.add_argument("--processes", type=int, default=PROCESSES)
    return made


def main(checks: Checks, description: str | None, arguments: Sequence[str]) -> int:
    """1 where a check of an op is wrong."""
    own = parser(description)
    own.add_argument("--checks", default=",".join(checks.by_name))
    options = own.parse_args(arguments)
    names = options.checks.split(",")
    outcomes: list[Outcome] = []
    for found in each_op(partial(checks.outcomes, names), options.ops, options.processes, checks.begin):
        outcomes += found
        print(
            f"{found[0].op:30} {', '.join([f'{each.check} {each.verdict.value}' for each in found])}",
            flush=True,
        )
        for each in found:
            if each.verdict in (Verdict.EXCUSED, Verdict.WRONG):
                print(f"  {each.check}: {each.text}", flush=True)
    print(*[summary(name, outcomes) for name in names], sep="\n", flush=True)
    return int(any([each.verdict is Verdict.WRONG for each in outcomes]))
