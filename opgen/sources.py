"""The files that declarations are read from."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .diagnostics import printable

MAX_BYTES: Final = 4_000_000  # no text of more is read into memory


@dataclass(frozen=True, slots=True)
class Source:
    """One file: its path as messages show it, its text, and the family (its folder under opdefs)."""

    path: str
    text: str
    family: str = ""


@dataclass(frozen=True, slots=True)
class SourceSet:
    """What could be read, and the files that could not."""

    sources: tuple[Source, ...]
    problems: tuple[tuple[str, str], ...] = field(default=())  # path, reason
    passed_over: tuple[str, ...] = field(default=())  # files called like YAML, but not `*.yaml`


def read_declaration(path: Path) -> str:
    """The text of a file.  Raises OSError if it is no regular file or too large, UnicodeDecodeError."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is not a regular file")
    if found.st_size > MAX_BYTES:
        raise OSError(f"it has {found.st_size} bytes; at most {MAX_BYTES} are read")
    return path.read_bytes().decode("utf-8")


def read_sources(folder: Path, base: Path | None = None) -> SourceSet:
    """Every `*.yaml` below `folder`, in order of path; paths are shown relative to `base`."""
    found: list[Source] = []
    problems: list[tuple[str, str]] = []
    passed_over: list[str] = []
    for path in sorted(folder.rglob("*.[yY]*")):
        if path.suffix.lower() not in (".yaml", ".yml"):
            continue
        name = str(path.relative_to(base)) if base is not None and path.is_relative_to(base) else str(path)
        shown = printable(name)
        family = path.parent.relative_to(folder).as_posix()
        if path.suffix != ".yaml":
            passed_over.append(shown)
            continue
        if shown != name:
            problems.append((shown, "its name holds characters that cannot be shown"))
            continue
        try:
            text = read_declaration(path)
        except (OSError, UnicodeDecodeError) as error:
            problems.append((shown, str(error)))
            continue
        found.append(Source(shown, text, "" if family == "." else family))
    return SourceSet(tuple(found), tuple(problems), tuple(passed_over))
