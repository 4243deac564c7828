"""Compare the files that should be there with those that are there."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ..project import COMMENTS
from .header import read_header


class PlanError(Exception):
    """A file that is not ours stands where a generated file belongs.  Nothing is written then."""


class Change(Enum):
    """What is to be done with one file."""

    MISSING = "missing"
    STALE = "stale"
    EDITED = "edited by hand"
    ORPHANED = "orphaned"


@dataclass(frozen=True, slots=True)
class Step:
    """One file to write (`text`) or to remove (None)."""

    path: Path
    change: Change
    text: str | None

    def diff(self, name: str) -> str:
        """A unified diff from the file as it is to the file as it should be."""
        old = _read(self.path).splitlines(keepends=True) if self.path.exists() else []
        new = [] if self.text is None else self.text.splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, f"{name} (now)", f"{name} (generated)"))


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps, sorted by path, and how many files are as they should be."""

    steps: tuple[Step, ...]
    unchanged: int


def make_plan(wanted: Sequence[tuple[Path, str]], folders: Iterable[Path], keep: Iterable[str] = ()) -> Plan:
    """The plan that makes the files of `folders` what `wanted` says.

    `keep`: files that are known to be up to date and are not in `wanted`.  Only files with our header are ever
    replaced or removed.  Raises PlanError naming every file in the way.
    """
    steps: list[Step] = []
    blocked: list[Path] = []
    unchanged = len(kept := set(keep))
    for path, text in wanted:
        if not path.exists() and not path.is_symlink():
            steps.append(Step(path, Change.MISSING, text))
            continue
        header = read_header(path) if path.is_file() and not path.is_symlink() else None
        if header is None:
            blocked.append(path)
        elif _read(path) == text:
            unchanged += 1
        else:
            steps.append(Step(path, Change.STALE if header.intact else Change.EDITED, text))
    if blocked:
        names = "\n".join(f"  {path}" for path in blocked)
        raise PlanError(
            f"in the way of generated files, and without opgen's header, so never overwritten:\n{names}\n"
            "move or remove them, or rename the ops"
        )
    expected = kept | {str(path) for path, _ in wanted}
    for path in sorted(_ours(folders, expected)):
        steps.append(Step(path, Change.ORPHANED, None))
    return Plan(tuple(sorted(steps, key=lambda step: step.path)), unchanged)


def _ours(folders: Iterable[Path], but: Collection[str]) -> set[Path]:
    """Files with our header directly inside the folders, but for some."""
    return {
        Path(entry.path)
        for folder in folders
        if folder.is_dir()
        for entry in os.scandir(folder)
        if os.path.splitext(entry.name)[1] in COMMENTS
        and entry.path not in but
        and entry.is_file()
        and read_header(Path(entry.path)) is not None
    }


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
