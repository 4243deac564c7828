"""Declarations checked and rendered: all that takes time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from opgen_runtime.base.garbage import rare_collections

from ..analyse import check_project
from ..diagnostics import Diagnostic
from ..emit.outputs import Output, operator_of, render_op, renderer_of
from ..project import Project
from ..render import Renderer, RenderError
from ..sources import SourceSet
from .listing import Listing, listing_of
from .pending import Pending, Unit

Id = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Job:
    """Documents to check, with all that must be read for it."""

    project: Project
    sources: SourceSet
    library: SourceSet | None
    wanted: frozenset[Id] | None  # None: all but `passed`
    passed: frozenset[Id]
    known_ops: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Made:
    """One op with its files."""

    name: str
    operator: str | None
    listing: Listing
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a job."""

    made: tuple[Made, ...]
    found: tuple[Diagnostic, ...]
    problem: str | None  # a template that could not be rendered


def whole(project: Project, pending: Pending) -> Job:
    """All that is pending in one job, also what the facts do not tell apart."""
    return Job(project, pending.sources, pending.library, None, pending.fresh, pending.names)


def part(project: Project, pending: Pending, units: Sequence[Unit]) -> Job:
    """The job of some units: their files, and those of what they extend and call."""
    needed = {source.path for unit in units for source in (unit.source, *unit.chain)}
    own = tuple(source for source in pending.sources.sources if source.path in needed)
    library = pending.library
    if library is not None:
        library = SourceSet(tuple(source for source in library.sources if source.path in needed))
    wanted = frozenset(unit.id for unit in units)
    return Job(project, SourceSet(own), library, wanted, frozenset(), pending.names)


@rare_collections()
def do(job: Job) -> Done:
    """Check and render.  Ops of files with an error are not rendered."""
    project = job.project

    def wanted(path: str, number: int) -> bool:
        return (path, number) not in job.passed if job.wanted is None else (path, number) in job.wanted

    packages = {name: project.import_root / name for name in project.packages}
    ops, found = check_project(job.sources, packages, job.known_ops, job.library, wanted)
    renderer = _renderer(project)
    made: list[Made] = []
    for op in ops:
        try:
            outputs = render_op(project, renderer, op)
        except RenderError as error:
            return Done(tuple(made), tuple(found), str(error))
        made.append(Made(op.name, operator_of(op), listing_of(op), outputs))
    return Done(tuple(made), tuple(found), None)


@lru_cache(maxsize=1)
def _renderer(project: Project) -> Renderer:
    """What prints the files of a project, for all jobs of a run in one process: it compiles each template once."""
    return renderer_of(project)


def forget_templates() -> None:
    """Before another run in this process: other templates may stand in their places by now."""
    _renderer.cache_clear()
