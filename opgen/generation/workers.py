"""Work shared among processes.  What comes out does not depend on how many there are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self

from ..project import Project
from .pending import Pending, Unit

if TYPE_CHECKING:
    from .work import Done, Job

WORTH_A_PROCESS: Final = (
    16  # declarations; a process needs about as long to start as eight of them to be checked
)
_SHARE: Final = 8  # declarations that a process takes at a time, fewer towards the end
_SHARE_ELSEWHERE: Final = 4 * WORTH_A_PROCESS  # of one that is started for them


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Others(Protocol):
    """What does jobs elsewhere."""

    def do(self, jobs: Sequence[Job], order: Sequence[int]) -> list[Done]:
        """What came of each job.  They are begun in `order`, which holds the position of each."""

    def close(self) -> None:
        """No more are asked for."""


class Team:
    """Who does the work of a run: this process, and others for as long as the `with` block lasts.

    `processes`: None is one a processor, and one alone for little work.  `others` do all of it, so many at a time.
    """

    def __init__(self, processes: int | None = None, others: Others | None = None) -> None:
        self._processes = processes
        self._helpers = others
        self._all_elsewhere = others is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._helpers is not None:
            self._helpers.close()

    def expect(self, declarations: int) -> None:
        """So many will have to be checked: others that are no forks begin to import what that takes."""
        if self._worth(declarations) > 1 and not self._all_elsewhere:
            from .shared import is_single  # and with it multiprocessing

            if not is_single():
                self._begin(declarations)

    def _begin(self, declarations: int) -> None:
        """Start the others, where so many declarations are worth any."""
        count = self._worth(declarations)
        if count > 1 and self._helpers is None:
            from .shared import Helpers

            self._helpers = Helpers(count - 1)

    def work(self, project: Project, pending: Pending) -> list[Done]:
        """Check and render what is pending."""
        units = pending.units
        from .work import (
            do,
            forget_templates,
            part,
            whole,
        )  # and with it the whole generator, which forks share

        self._begin(len(units) if pending.is_regular else 0)
        forget_templates()
        if not pending.is_regular:
            return [do(whole(project, pending))]
        count = self._worth(len(units))
        if self._helpers is None or count < 2 - self._all_elsewhere:
            return [do(part(project, pending, units))] if units else []
        shares = _shares(units, count, _SHARE_ELSEWHERE if self._all_elsewhere else _SHARE)
        order = sorted(range(len(shares)), key=lambda number: -_length(shares[number]))
        return self._helpers.do([part(project, pending, share) for share in shares], order)

    def _worth(self, declarations: int) -> int:
        """How many processes there should be."""
        if self._processes is not None:
            return min(self._processes, declarations)
        return min(processors(), declarations // WORTH_A_PROCESS)


def _shares(units: Sequence[Unit], processes: int, most: int) -> list[Sequence[Unit]]:
    """The units in shares that grow small towards the end, so that no process waits long for another."""
    from .shared import MAX_JOBS

    least = 1 + len(units) // MAX_JOBS
    shares: list[Sequence[Unit]] = []
    first = 0
    while first < len(units):
        count = max(least, min(most, (len(units) - first) // (4 * processes)))
        shares.append(units[first : first + count])
        first += count
    return shares


def _length(units: Sequence[Unit]) -> int:
    """About how long they take: what is long to read is long to check."""
    return sum(len(unit.source.text) for unit in units)
