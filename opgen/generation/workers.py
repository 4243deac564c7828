"""Work shared among processes.  What comes out does not depend on how many there are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from ..project import Project
from .pending import Pending, Unit
from .work import Done, do, forget_templates, part, whole

WORTH_A_PROCESS: Final = (
    16  # declarations; a process needs about as long to start as eight of them to be checked
)
_SHARE: Final = 8  # declarations that a process takes at a time, fewer towards the end


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def work(project: Project, pending: Pending, processes: int | None = None) -> list[Done]:
    """Check and render what is pending.  `processes`: None is one a processor, and one alone for little work."""
    units = pending.units
    forget_templates()
    if not pending.is_regular:
        return [do(whole(project, pending))]
    if processes is None:
        processes = min(processors(), max(1, len(units) // WORTH_A_PROCESS))
    if processes == 1:
        return [do(part(project, pending, units))] if units else []
    shares = [part(project, pending, share) for share in _shares(units, processes)]
    from .shared import shared_out  # and with it multiprocessing

    return shared_out(shares, processes)


def _shares(units: Sequence[Unit], processes: int) -> list[Sequence[Unit]]:
    """The units in shares that grow small towards the end, so that no process waits long for another."""
    shares: list[Sequence[Unit]] = []
    first = 0
    while first < len(units):
        count = max(1, min(_SHARE, (len(units) - first) // (4 * processes)))
        shares.append(units[first : first + count])
        first += count
    return shares
