"""The mutants of an op: what a worker judges at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .subjects import Library, Mutant, scratch_project
from .suites import is_killed

Verdict = tuple[Mutant, bool]
LIBRARY: Final[list[Library]] = []
"""Of a process: inherited when it is forked, else read when it is needed."""


@dataclass(frozen=True)
class Unit:
    """At most `most` mutants of each of the parts of an op, chosen by the seed."""

    op: str
    seed: int
    most: int | None
    parts: Sequence[str]


def judged(unit: Unit) -> list[Verdict]:
    """The mutants of an op, and whether its suite kills each.  Raises RuntimeError if it kills the right op."""
    if not LIBRARY:
        LIBRARY.append(Library())
    library = LIBRARY[0]
    op = library.ops[unit.op]
    with tempfile.TemporaryDirectory() as folder:
        project = scratch_project(Path(folder))
        if is_killed(library.right(op, project, unit.parts)):
            raise RuntimeError(f"the suite of {unit.op} fails without any mutation")
        mutants = library.mutants_of(op, project, unit.seed, unit.most, unit.parts)
        return [(mutant, is_killed(mutant)) for mutant in mutants]
