"""Mending declarations where a finding says by itself what is to be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..diagnostics import Diagnostic
from ..emit.write import write_atomically
from ..generation.generate import generate
from ..project import Project
from .console import note

_ROUNDS: Final = 8  # a mended mistake may uncover another


def mend(project: Project) -> None:
    """Write what mends each finding that has a fix, and say so; those without one stay.  Raises OSError."""
    for _ in range(_ROUNDS):
        found = [each for each in generate(project).found if each.fix is not None]
        for path in dict.fromkeys(each.place.path for each in found):
            _mend_file(project, path, [each for each in found if each.place.path == path])
        if not found:
            return


def _mend_file(project: Project, path: str, found: Sequence[Diagnostic]) -> None:
    file = project.root / path
    lines = file.read_bytes().decode().splitlines(keepends=True)
    for each in sorted(found, key=lambda each: each.place, reverse=True):
        place, line = each.place, lines[each.place.line - 1]
        before = line[place.column - 1 : place.end_column - 1]
        lines[place.line - 1] = line[: place.column - 1] + str(each.fix) + line[place.end_column - 1 :]
        note(f"{place}: `{before}` is now `{each.fix}`")
    write_atomically(file, "".join(lines))
