"""Mending declarations where a finding says by itself what is to be written."""

from __future__ import annotations

from typing import Final

from ..diagnostics import mended
from ..emit.write import write_atomically
from ..generation.generate import generate
from ..project import Project
from .console import note

_ROUNDS: Final = 8  # a mended mistake may uncover another


def mend(project: Project) -> None:
    """Write what mends each finding that has a fix, and say so; those without one stay.  Raises OSError."""
    for _ in range(_ROUNDS):
        found = [each for each in generate(project).found if each.fix]
        for path in dict.fromkeys(each.place.path for each in found):
            file = project.root / path
            text = file.read_bytes().decode()
            mended_text, notes = mended(text, [each for each in found if each.place.path == path])
            for line in notes:
                note(line)
            write_atomically(file, mended_text)
        if not found:
            return
