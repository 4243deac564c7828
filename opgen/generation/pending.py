"""Which declarations have to be checked, and which generated files are known to be right without it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ..digests import chain_digest, digest
from ..emit.own import own_digest
from ..project import Project, resources
from ..sources import Source, SourceSet, read_sources, registered
from .facts import found_facts, known_facts
from .outline import Facts
from .records import Records

_MAX_GENERATIONS = 16


@dataclass(frozen=True, slots=True)
class Unit:
    """One document."""

    source: Source
    number: int  # in its file
    facts: Facts
    chain: tuple[Source, ...]  # the files of what it extends and calls
    key: str  # of its record: all that checking and printing it uses

    @property
    def id(self) -> tuple[str, int]:
        return self.source.path, self.number


@dataclass(frozen=True, slots=True)
class Pending:
    """What is to be done."""

    sources: SourceSet
    library: SourceSet | None
    units: tuple[Unit, ...]  # to be checked, if the declarations can be told apart
    fresh: frozenset[tuple[str, int]]  # documents that need not be checked
    entries: Mapping[str, Mapping[str, Any]]  # of the fresh ones, by name
    names: Mapping[str, str]  # of all ops that gradients may call, with those in the registry
    lines: Mapping[str, int]  # where each stands in its file
    is_regular: bool  # False: some file or chain of parents cannot be read, so that all is read at once


def find_pending(
    project: Project, generator: str, records: Records, expect: Callable[[int], None] = lambda files: None
) -> Pending:
    """Read the declarations and compare what is known of them with the generated files.

    `expect` is told how many files nothing is known of, before they are read.
    """
    sources = read_sources(project.opdefs, project.root)
    facts = _facts(sources, records, expect)
    own = {each.name: (source, each) for source, found in facts for each in found or ()}
    count = sum(len(found or ()) for _, found in facts)
    regular = not sources.problems and len(own) == count and all(found is not None for _, found in facts)
    folder = resources("opdefs")
    library = None if folder == project.opdefs else read_sources(folder)
    parents = dict(own)
    used = {name for _, each in own.values() for name in (each.parent, *each.expands) if name is not None}
    if library is not None and not used <= own.keys():
        for source, found in _facts(library, records, expect):
            for each in found or ():
                parents.setdefault(each.name, (source, each))
    folders = (project.relative(project.output), project.relative(project.tests))
    settings = digest(
        generator, project.package, project.namespace, repr(project.packages), own_digest(project), *folders
    )
    externs = _Externs(project)
    names = {**registered(library), **registered(sources, project.namespace)}
    units, fresh, entries = [], set(), {}
    for source, found in facts:
        for number, each in enumerate(found or ()):
            chain = _chain(each, parents)
            if chain is None:
                regular = False
                continue
            key = _key(settings, source, [each, *(facts for _, facts in chain)], externs, names)
            unit = Unit(source, number, each, tuple(source for source, _ in chain), key)
            entry = records.get(key)
            if entry is not None and has_files(project, entry):
                fresh.add(unit.id)
                entries[each.name] = entry
            else:
                units.append(unit)
    lines = {name: each.line for name, (_, each) in own.items()}
    return Pending(sources, library, tuple(units), frozenset(fresh), entries, names, lines, regular)


def _facts(
    sources: SourceSet, records: Records, expect: Callable[[int], None]
) -> list[tuple[Source, tuple[Facts, ...] | None]]:
    known = [known_facts(source, records) for source in sources.sources]
    expect(known.count(None))
    return [
        (source, found_facts(source, records) if facts is None else facts)
        for source, facts in zip(sources.sources, known, strict=True)
    ]


def has_files(project: Project, entry: Mapping[str, Any]) -> bool:
    """Whether the files of a record are there, as they were generated."""
    return all(file_digest(f"{project.root}/{name}") == found for name, found in entry["files"].items())


def file_digest(path: str, links: bool = False) -> str:
    """The digest of a file's bytes; "" where there is none, or without `links` a link."""
    try:
        with open(path, "rb", buffering=0, opener=None if links else _no_link) as file:
            return sha256(file.readall()).hexdigest()
    except OSError:
        return ""


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _chain(facts: Facts, known: Mapping[str, tuple[Source, Facts]]) -> list[tuple[Source, Facts]] | None:
    """The ancestors, nearest first, and all that is called; None where an ancestor cannot be found."""
    ancestors = _ancestors(facts, known)
    if ancestors is None:
        return None
    found = {facts.name: facts, **{each.name: each for _, each in ancestors}}
    called: list[tuple[Source, Facts]] = []
    queue = list(found.values())
    for each in queue:
        below = [] if each.parent is None else [each.parent]
        new = [name for name in (*below, *each.expands) if name in known and name not in found]
        called += [known[name] for name in dict.fromkeys(new)]
        found |= {name: known[name][1] for name in new}
        queue += [known[name][1] for name in dict.fromkeys(new)]
    return [*ancestors, *called]


def _ancestors(facts: Facts, known: Mapping[str, tuple[Source, Facts]]) -> list[tuple[Source, Facts]] | None:
    chain: list[tuple[Source, Facts]] = []
    seen = {facts.name}
    while facts.parent is not None:
        found = known.get(facts.parent)
        if found is None or facts.parent in seen or len(chain) == _MAX_GENERATIONS:
            return None
        seen.add(facts.parent)
        chain.append(found)
        facts = found[1]
    return chain


def _key(
    settings: str, source: Source, chain: Sequence[Facts], externs: _Externs, names: Mapping[str, str]
) -> str:
    declared = chain_digest([facts.digest for facts in chain])
    called = sorted({names[name] for facts in chain for name in facts.calls if name in names})
    texts = [externs.digest(extern) for facts in chain for extern in facts.externs]
    return digest(settings, source.path, source.family, chain[0].name, declared, *called, "", *texts)


class _Externs:
    """Digests of the Python files that `python:` references point to."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[str, str] = {}

    def digest(self, extern: str) -> str:
        """Of the module's file; "" where there is none."""
        module = extern.partition(":")[0]
        if module not in self._known:
            self._known[module] = self._read(module)
        return self._known[module]

    def _read(self, module: str) -> str:
        path = f"{self._project.import_root}/{module.replace('.', '/')}"
        for candidate in (f"{path}.py", f"{path}/__init__.py"):
            found = file_digest(candidate, links=True)
            if found:
                return found
        return ""
