"""All declarations of a project: read, checked together, every error of every file collected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from opgen_runtime.base.vocabulary import dataclass

from ..diagnostics import Diagnostic, Diagnostics, Place
from ..document import Document, TextNode, read_documents, validate
from ..model import CheckedOp
from ..model.opdef import OpDef
from ..sources import OP_KEY, Source, SourceSet, read_declaration, registered
from .callees import Callees
from .check import check_op
from .names.define import define
from .names.inherit import by_name, called_ops, inherit
from .signatures.externs import ExternRoots


def check_project(
    sources: Iterable[Source | Path] | SourceSet | Mapping[str, str],
    packages: Mapping[str, Path] | None = None,
    known_ops: Mapping[str, str] = MappingProxyType({}),
    library: SourceSet | None = None,
    wanted: Callable[[str, int], bool] = lambda path, number: True,
) -> tuple[list[CheckedOp], list[Diagnostic]]:
    """The ops of all files without errors, in order of files, and all diagnostics in order of place.

    `sources`: files (a path is read), a `SourceSet`, or a mapping of path to text.  `packages`: import name ->
    folder, where `python:` references may point.  `known_ops`: further ops that gradients may call,
    or those of the files under another name in the registry, by name.  `library`: declarations that may be extended
    and called, but are not of this project; mistakes in them are not reported.
    `wanted`: which documents, by path and number in the file, are checked; the others are only read.
    """
    diagnostics = Diagnostics()
    documents, families = _documents(sources, diagnostics)
    known = by_name(documents, diagnostics)
    parents = {**_ancestors(documents, library), **known}
    roots = ExternRoots(packages or {})
    names = {**registered(library), **{name: name for name in known}, **known_ops}
    callees = Callees(_Definitions(parents), names)
    checked: list[CheckedOp] = []
    for document in known.values():
        if not wanted(document.path, document.index):
            continue
        op = _defined(document, parents, diagnostics)
        family = families.get(document.path, "")
        made = None if op is None or op.abstract else check_op(op, family, roots, names, callees, diagnostics)
        if made is not None:
            checked.append(made)
    first = set(map(id, known.values()))
    for document in documents:
        if id(document) not in first:
            op = _defined(document, known, diagnostics)
            if op is not None and not op.abstract:
                check_op(op, "", roots, names, callees, diagnostics)
    wrong = {finding.place.path for finding in diagnostics.found if finding.is_error}
    return [op for op in checked if op.source not in wrong], diagnostics.sorted()


@dataclass(frozen=True, slots=True)
class DeclaredOp:
    """An op by its declaration alone, unchecked."""

    name: str
    source: str
    document: int  # which document of that file, from 0
    digest: str  # of the declaration with all that it extends, as in `CheckedOp`


def declared_ops(
    sources: SourceSet, library: SourceSet | None = None
) -> tuple[list[DeclaredOp], list[Diagnostic]]:
    """The ops that the files declare, and what keeps them from being read; far quicker than `check_project`."""
    diagnostics = Diagnostics()
    documents = _documents(sources, diagnostics)[0]
    known = by_name(documents, diagnostics)
    parents = {**_ancestors(documents, library), **known}
    found: list[DeclaredOp] = []
    for name, document in known.items():
        merged = inherit(document, parents, diagnostics)
        abstract = document.root.get("abstract")
        if merged is not None and not (isinstance(abstract, TextNode) and abstract.value.lower() == "true"):
            found.append(DeclaredOp(name, document.path, document.index, merged[1].digest))
    return found, diagnostics.sorted()


def _ancestors(documents: Iterable[Document], library: SourceSet | None) -> Mapping[str, Document]:
    """What the documents extend and call, and that in turn, of the library: files that declare none are not read."""
    unread = list(library.sources) if library is not None else []
    unreported = Diagnostics()
    found: list[Document] = []
    new = list(documents)
    while unread and new:
        wanted = {parent.value for each in new if isinstance(parent := each.root.get("extends"), TextNode)}
        wanted |= {name for each in new for name in called_ops(each.root)}
        read = [source for source in unread if not wanted.isdisjoint(OP_KEY.findall(source.text))]
        unread = [source for source in unread if source not in read]
        new = _documents(SourceSet(tuple(read)), unreported)[0]
        found += new
    return by_name(found, unreported)


class _Definitions:
    """The declarations of ops that others call, each read once; what is wrong with them is reported elsewhere."""

    def __init__(self, known: Mapping[str, Document]) -> None:
        self._known = known
        self._read: dict[str, OpDef | None] = {}

    def __call__(self, name: str) -> OpDef | None:
        if name not in self._read:
            document = self._known.get(name)
            self._read[name] = None if document is None else _defined(document, self._known, Diagnostics())
        return self._read[name]


def _defined(document: Document, known: Mapping[str, Document], diagnostics: Diagnostics) -> OpDef | None:
    merged = inherit(document, known, diagnostics)
    if merged is None:
        validate(document, diagnostics)
        return None
    declaration = validate(merged[0], diagnostics)
    if declaration is None:
        return None
    return define(declaration, merged[1], diagnostics)


def _documents(
    sources: Iterable[Source | Path] | SourceSet | Mapping[str, str], diagnostics: Diagnostics
) -> tuple[list[Document], dict[str, str]]:
    documents: list[Document] = []
    families: dict[str, str] = {}
    for item in _each(sources, diagnostics):
        families[item.path] = item.family
        documents += read_documents(item.path, item.text, diagnostics)
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
