"""Work shared among processes of other machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from .work import Done, Job, do

Each: TypeAlias = Callable[[Callable[[Job], Done], Sequence[Job], Sequence[int]], Iterable[tuple[int, Done]]]
"""Of a function, units, and the order in which they are begun: the number of each with what came of it."""


class Elsewhere:
    """What does jobs by a function that maps units over workers."""

    def __init__(self, each: Each) -> None:
        self._each = each

    def do(self, jobs: Sequence[Job], order: Sequence[int]) -> list[Done]:
        """What came of each job."""
        found = dict(self._each(do, jobs, order))
        return [found[number] for number in range(len(jobs))]

    def close(self) -> None:
        """The workers have an end of their own."""
