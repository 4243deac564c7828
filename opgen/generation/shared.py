"""Jobs done by several processes, of which this is one."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

from .garbage import collect_rarely
from .work import Done, Job, do

_AHEAD: Final = 2  # jobs that wait for each process while this one is at its own


def shared_out(jobs: Sequence[Job], processes: int) -> list[Done]:
    """What came of each job, in their order."""
    # New processes, not forked ones: a lock that a thread of this one holds would stay closed in them.
    with ProcessPoolExecutor(processes - 1, get_context("spawn"), collect_rarely) as pool:
        return _shared_out(pool, jobs, _AHEAD * (processes - 1))


def _shared_out(pool: Executor, jobs: Sequence[Job], ahead: int) -> list[Done]:
    """What came of each job, in their order.  This process, which has all that it takes, does its part of them."""
    made: list[Future[Done] | Done] = []
    for job in jobs:
        waiting = sum(isinstance(each, Future) and not each.done() for each in made)
        made.append(pool.submit(do, job) if waiting < ahead else do(job))
    return [each.result() if isinstance(each, Future) else each for each in made]
