"""The files that declarations are read from."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .diagnostics import printable

_IS_YAML: Final = re.compile(r".+\.ya?ml", re.IGNORECASE | re.DOTALL).fullmatch
OP_KEY: Final = re.compile(r"""^["']?op["']?[ \t]*:[ \t]*["']?(\w+)""", re.MULTILINE)
_DOCUMENT: Final = re.compile(r"^---", re.MULTILINE)
_ABSTRACT: Final = re.compile(r"^abstract[ \t]*:[ \t]*true", re.MULTILINE | re.IGNORECASE)
_REWRITES: Final = "rewrites"  # a folder of declared rewrites among declarations of ops
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


def read_declaration(path: str | Path) -> str:
    """The text of a file.  Raises OSError if it is no regular file or too large, UnicodeDecodeError."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is not a regular file")
    if found.st_size > MAX_BYTES:
        raise OSError(f"it has {found.st_size} bytes; at most {MAX_BYTES} are read")
    with open(path, "rb", buffering=0) as file:
        return file.readall().decode("utf-8")


def read_sources(folder: Path, base: Path | None = None) -> SourceSet:
    """Every `*.yaml` below `folder`, in order of path; paths are shown relative to `base`."""
    found: list[Source] = []
    problems: list[tuple[str, str]] = []
    passed_over: list[str] = []
    root = os.fspath(folder)
    before = f"{base}{os.sep}" if base is not None else ""
    for path in sorted(_files(root), key=lambda path: path.split(os.sep)):
        name = path.removeprefix(before)
        shown = printable(name)
        if not path.endswith(".yaml"):
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
        family = os.path.dirname(path)[len(root) + 1 :].replace(os.sep, "/")
        found.append(Source(shown, text, family))
    return SourceSet(tuple(found), tuple(problems), tuple(passed_over))


def registered(sources: SourceSet | None, namespace: str = "") -> dict[str, str]:
    """The ops that are declared, abstract ones left out, as a glance at the texts shows them, by name.

    The values are their names in the registry.
    """
    prefix = f"{namespace}." if namespace else ""
    documents = (
        [text for source in sources.sources for text in _DOCUMENT.split(source.text)] if sources else []
    )
    named = [(OP_KEY.search(text), text) for text in documents]
    found = [name[1] for name, text in named if name is not None and _ABSTRACT.search(text) is None]
    return {name: prefix + name for name in found}


def _files(folder: str) -> Iterator[str]:
    """The paths of everything below a folder that is called like YAML; its own folder of rewrites holds no ops."""
    for where, folders, files in os.walk(folder):
        if where == folder and _REWRITES in folders:
            folders.remove(_REWRITES)
        yield from (os.path.join(where, name) for name in (*files, *folders) if _IS_YAML(name))
