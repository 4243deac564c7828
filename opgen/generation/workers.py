"""Work shared among processes.  What comes out does not depend on how many there are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

from ..project import Project
from .garbage import collect_rarely
from .pending import Pending, Unit
from .work import Done, do, part, whole

WORTH_A_PROCESS: Final = (
    16  # declarations; a process needs about as long to start as eight of them to be checked
)
_SHARE: Final = 8  # declarations that a process takes at a time


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def work(project: Project, pending: Pending, processes: int | None = None) -> list[Done]:
    """Check and render what is pending.  `processes`: None is one a processor, and one alone for little work."""
    units = pending.units
    if not pending.is_regular:
        return [do(whole(project, pending))]
    if processes is None:
        processes = min(processors(), max(1, len(units) // WORTH_A_PROCESS))
    if processes == 1:
        return [do(part(project, pending, units))] if units else []
    shares = [part(project, pending, share) for share in _shares(units)]
    # New processes, not forked ones: a lock that a thread of this one holds would stay closed in them.
    with ProcessPoolExecutor(processes, get_context("spawn"), collect_rarely) as pool:
        return list(pool.map(do, shares))


def _shares(units: Sequence[Unit]) -> list[Sequence[Unit]]:
    return [units[first : first + _SHARE] for first in range(0, len(units), _SHARE)]
