"""The generated files of a project's rewrites: which are known to be right, and the others made.

A file of rewrites whose rules were tried has a record, under a digest of its text, of the generator and of the parts of
the runtime that rules run in.  The record holds digests of the modules of all ops that took part: where one of them
changes, the rules are tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from ..diagnostics import Diagnostic, Diagnostics, Place
from ..digests import digest
from ..project import Project
from ..sources import Source, read_sources
from .generator import runtime_digest
from .pending import file_digest, has_files
from .records import Records

if TYPE_CHECKING:
    from opgen_runtime.declaration.rewrites import RewriteDef

    from ..emit.outputs import Output


_RUNTIME: Final = (
    "ir", "transform/matching.py", "transform/rules.py", "transform/written_rules.py", "transform/calls.py",
    "transform/build.py", "transform/evaluator.py", "testing/rule_samples.py", "testing/rule_trial.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rewrites:
    """What should be there for rewrites, and what is wrong with them."""

    outputs: tuple[Output, ...] = ()
    kept: tuple[str, ...] = ()
    found: tuple[Diagnostic, ...] = ()
    problem: str | None = None  # a template that could not be rendered, a package that cannot be imported


def generate_rewrites(project: Project, generator: str, records: Records, ops: Sequence[Output]) -> Rewrites:
    """Try and print what is not known to be right.  `ops`: files of ops that may not be there as they should be."""
    sources = read_sources(project.rewrites, project.root)
    if not sources.sources and not sources.problems:
        return Rewrites()
    fresh = {str(each.path): each.text for each in ops if file_digest(str(each.path)) != _sha(each.text)}
    folders = [project.relative(each) for each in (project.passes, project.pass_tests, project.output)]
    settings = digest("rewrites", generator, runtime_digest(_RUNTIME), project.package, *folders)
    digest_of = cache(lambda path: _digest_of(path, fresh))
    keys = {source.path: digest(settings, source.path, source.text) for source in sources.sources}
    entries: dict[str, Mapping[str, Any]] = {}
    for path, key in keys.items():
        entry: Any = records.get(key)
        if entry is not None and has_files(project, entry) and _is_current(entry["uses"], digest_of):
            entries[path] = entry
    kept = [f"{project.root}/{name}" for entry in entries.values() for name in entry["files"]]
    pending = [source for source in sources.sources if source.path not in entries]
    outputs: tuple[Output, ...] = ()
    if pending or sources.problems:
        diagnostics = Diagnostics()
        for path, reason in sources.problems:
            diagnostics.error("encoding", f"{path} cannot be read: {reason}", Place(path, 1, 1, 1, 2))
        made, problem = _made(project, pending, fresh, diagnostics)
        if diagnostics.found or problem is not None:
            return Rewrites((), tuple(kept), tuple(diagnostics.found), problem)
        for path, entry in made.items():
            outputs += entry.outputs
            entries[path] = {
                "files": _digests(project, entry.outputs),
                "uses": entry.uses,
                "passes": entry.passes,
            }
            records.add(keys[path], entries[path])
    names = sorted(str(name) for entry in entries.values() for name in entry["passes"])
    index_key = digest(settings, "index", *names)
    known: Any = records.get(index_key)
    if known is not None and has_files(project, known):
        return Rewrites(outputs, (*kept, *[f"{project.root}/{name}" for name in known["files"]]))
    from ..emit.rewrites import render_rewrite_index

    index = render_rewrite_index(project, names)
    records.add(index_key, {"files": _digests(project, [index])})
    return Rewrites((*outputs, index), tuple(kept))


@dataclass(frozen=True, slots=True)
class _Made:
    """What came of one file."""

    outputs: tuple[Output, ...]
    uses: dict[str, str]
    passes: list[str]


def _made(
    project: Project, sources: Sequence[Source], fresh: Mapping[str, str], diagnostics: Diagnostics
) -> tuple[dict[str, _Made], str | None]:
    """The files of rewrites, tried and printed, by path; and what went wrong besides their own mistakes."""
    from ..emit.rewrites import render_rewrite
    from ..render import Renderer, RenderError
    from .rewrite_reading import read_rewrites
    from .rewrite_trial import TrialError, try_apart

    read = {source.path: read_rewrites(source, diagnostics) for source in sources}
    if diagnostics.found:
        return {}, None
    passes = [each for found in read.values() for each in found]
    try:
        outcomes, used = try_apart(project, passes, fresh)
        tried = dict(zip([each.name for each in passes], outcomes, strict=True))
        for each in passes:
            for number, problem in tried[each.name].problems:
                _refuse(each, number, problem, diagnostics)
        renderer = Renderer(project.templates)
        made = {}
        for path, found in read.items():
            outputs = [
                output
                for each in found
                for output in render_rewrite(project, renderer, each, tried[each.name])
            ]
            uses = {file: _digest_of(file, fresh) for file in used}
            made[path] = _Made(tuple(outputs), uses, [each.name for each in found])
    except (TrialError, RenderError) as error:
        return {}, str(error)
    return made, None


def _refuse(each: RewriteDef, number: int, problem: str, diagnostics: Diagnostics) -> None:
    line = each.rules[number].line
    diagnostics.error("value", problem, Place(each.source, line, 1, line, 2))


def _is_current(uses: Mapping[str, str], digest_of: Callable[[str], str]) -> bool:
    return all(digest_of(path) == found for path, found in uses.items())


def _digest_of(path: str, fresh: Mapping[str, str]) -> str:
    return _sha(fresh[path]) if path in fresh else file_digest(path, links=True)


def _sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _digests(project: Project, outputs: Sequence[Output]) -> dict[str, str]:
    return {project.relative(each.path): _sha(each.text) for each in outputs}
