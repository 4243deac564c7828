"""Jobs done by several processes, of which this is one.

Every process takes the next job that nobody has taken: they read its number from one pipe.  So none waits while there
is a job left.  The others give what they found when no job is left; what one did not give, since it failed or was
killed, is done by this one, which raises what there is to raise.  When this one ends, they end before their next job.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .work import Done, Job

MAX_JOBS: Final = 2_000  # their numbers are written at once, for which every pipe has room
_WIDTH: Final = 2  # bytes of a number


class Helpers:
    """Processes that are ready for jobs, once."""

    def __init__(self, count: int) -> None:
        forked = is_single()
        context = ForkContext() if forked else SpawnContext()
        self._numbers, self._wanted = context.Pipe(duplex=False)
        self._pipes: list[Connection] = []
        self._processes: list[BaseProcess] = []
        for _ in range(count):
            mine, theirs = context.Pipe()
            # What a fork takes along, and must not hold open: the ends of pipes that this process has.
            open_here = (self._wanted, mine, *self._pipes) if forked else ()
            given = (theirs, self._numbers, open_here, os.getpid())
            process = context.Process(target=_help, args=given, daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(mine)
            self._processes.append(process)

    def do(self, jobs: Sequence[Job], order: Sequence[int]) -> list[Done]:
        """What came of each job.  They are begun in `order`, which holds the position of each, MAX_JOBS at most."""
        from .work import do

        for pipe in self._pipes:
            with suppress(OSError):  # it has ended
                pipe.send(jobs)
        os.write(self._wanted.fileno(), b"".join(number.to_bytes(_WIDTH, "big") for number in order))
        self._wanted.close()
        made = {number: do(jobs[number]) for number in _taken(self._numbers)}
        for pipe in self._pipes:
            with suppress(EOFError, OSError):
                made.update(pipe.recv())
        return [made[number] if number in made else do(job) for number, job in enumerate(jobs)]

    def close(self) -> None:
        """End those that are still there."""
        for process in self._processes:
            process.terminate()
            process.join()
        for connection in (*self._pipes, self._numbers, self._wanted):
            connection.close()


def is_single() -> bool:
    """Whether this process has one thread alone, so that a fork finds no lock of another closed."""
    return sys.platform == "linux" and len(os.listdir("/proc/self/task")) == 1


def _taken(numbers: Connection) -> Iterator[int]:
    """The numbers of jobs, each taken before it is given, until none is left."""
    while number := os.read(numbers.fileno(), _WIDTH):
        yield int.from_bytes(number, "big")


def _help(pipe: Connection, numbers: Connection, open_there: Sequence[Connection], parent: int) -> None:
    """All that one of the other processes does."""
    try:
        for connection in open_there:
            connection.close()
        from .work import do, forget_templates

        forget_templates()
        jobs = pipe.recv()
        made = {}
        for number in _taken(numbers):
            if os.getppid() != parent:
                return
            made[number] = do(jobs[number])
        pipe.send(made)
    finally:
        os._exit(0)  # what went wrong goes wrong in the first process, too, and is told there
