"""All declarations of a project: read, checked together, every error of every file collected."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..diagnostics import Diagnostic, Diagnostics, Place, printable
from ..document import Document, TextNode, compose, make_source, validate
from ..model import CheckedOp
from .check import check_op
from .names.define import define
from .names.inherit import by_name, inherit
from .signatures.seams import SeamRoots

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
    for path in sorted(folder.rglob("*")):
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


def check_project(
    sources: Iterable[Source | Path] | SourceSet | Mapping[str, str],
    packages: Mapping[str, Path] | None = None,
    known_ops: Iterable[str] = (),
    library: SourceSet | None = None,
) -> tuple[list[CheckedOp], list[Diagnostic]]:
    """The ops of all files without errors, in order of files, and all diagnostics in order of place.

    `sources`: files (a path is read), a `SourceSet`, or a mapping of path to text.  `packages`: import name ->
    folder, where `python:` seams may point.  `known_ops`: ops of other projects that gradients may call.
    `library`: declarations that may be extended, but are not of this project; mistakes in them are not reported.
    """
    diagnostics = Diagnostics()
    documents, families = _documents(sources, diagnostics)
    known = by_name(documents, diagnostics)
    parents = {**_library(library), **known}
    roots = SeamRoots(packages or {})
    names = [*known, *known_ops]
    checked: list[CheckedOp] = []
    for document in known.values():
        made = _check(document, parents, families.get(document.path, ""), roots, names, diagnostics)
        if made is not None:
            checked.append(made)
    first = set(map(id, known.values()))
    for document in documents:
        if id(document) not in first:
            _check(document, known, "", roots, names, diagnostics)
    wrong = {finding.place.path for finding in diagnostics.found if finding.is_error}
    return [op for op in checked if op.source not in wrong], diagnostics.sorted()


@dataclass(frozen=True, slots=True)
class Declared:
    """An op by its declaration alone, unchecked."""

    name: str
    source: str
    digest: str  # of the declaration with all that it extends, as in `CheckedOp`


def declared_ops(
    sources: SourceSet, library: SourceSet | None = None
) -> tuple[list[Declared], list[Diagnostic]]:
    """The ops that the files declare, and what keeps them from being read; far quicker than `check_project`."""
    diagnostics = Diagnostics()
    known = by_name(_documents(sources, diagnostics)[0], diagnostics)
    parents = {**_library(library), **known}
    found: list[Declared] = []
    for name, document in known.items():
        merged = inherit(document, parents, diagnostics)
        abstract = document.root.get("abstract")
        if merged is not None and not (isinstance(abstract, TextNode) and abstract.value.lower() == "true"):
            found.append(Declared(name, document.path, merged[1].digest))
    return found, diagnostics.sorted()


def _library(sources: SourceSet | None) -> Mapping[str, Document]:
    if sources is None:
        return {}
    unreported = Diagnostics()
    return by_name(_documents(sources, unreported)[0], unreported)


def _check(
    document: Document,
    known: Mapping[str, Document],
    family: str,
    roots: SeamRoots,
    names: list[str],
    diagnostics: Diagnostics,
) -> CheckedOp | None:
    merged = inherit(document, known, diagnostics)
    if merged is None:
        validate(document, diagnostics)
        return None
    declaration = validate(merged[0], diagnostics)
    if declaration is None:
        return None
    op = define(declaration, merged[1], diagnostics)
    if op.abstract:
        return None
    return check_op(op, family, roots, names, diagnostics)


def _documents(
    sources: Iterable[Source | Path] | SourceSet | Mapping[str, str], diagnostics: Diagnostics
) -> tuple[list[Document], dict[str, str]]:
    documents: list[Document] = []
    families: dict[str, str] = {}
    for item in _each(sources, diagnostics):
        families[item.path] = item.family
        made = make_source(item.path, item.text, diagnostics)
        if made is not None:
            documents += compose(made, diagnostics)
    return documents, families


def _each(
    sources: Iterable[Source | Path] | SourceSet | Mapping[str, str], diagnostics: Diagnostics
) -> Iterable[Source]:
    if isinstance(sources, Mapping):
        yield from (Source(path, text) for path, text in sources.items())
        return
    if isinstance(sources, SourceSet):
        for path, reason in sources.problems:
            _unreadable(path, reason, diagnostics)
        sources = sources.sources
    for item in sources:
        if isinstance(item, Source):
            yield item
            continue
        try:
            yield Source(str(item), read_declaration(item), item.parent.name)
        except (OSError, UnicodeDecodeError) as error:
            _unreadable(str(item), str(error), diagnostics)


def _unreadable(path: str, reason: str, diagnostics: Diagnostics) -> None:
    diagnostics.error("encoding", f"the file cannot be read: {reason}", Place(path, 1, 1, 1, 2))
