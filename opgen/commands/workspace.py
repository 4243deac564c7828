"""A project, checked: what most commands start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ..analyse import check_project, read_sources
from ..diagnostics import Diagnostic, to_json, to_text
from ..emit import Plan, PlanError, emitter_digest, make_plan, render_project
from ..model import CheckedOp
from ..project import Project, resources
from ..render import Renderer, RenderError
from .console import WARNING, note, working
from .failure import Failure, Findings


@dataclass(frozen=True, slots=True)
class Workspace:
    """A project and its ops; only made when all declarations are free of errors."""

    project: Project
    ops: tuple[CheckedOp, ...]

    def op(self, name: str) -> CheckedOp:
        """The op of that bare name.  Raises Failure."""
        for op in self.ops:
            if op.name == name:
                return op
        raise Failure(f"{name!r} is abstract: other declarations extend it, and it has no files of its own")

    def plan(self) -> Plan:
        """What must be done to the generated files.  Raises Failure."""
        project = self.project
        try:
            emitter = emitter_digest(project.templates)
            outputs = render_project(project, Renderer(project.templates), emitter, self.ops)
            wanted = [(output.path, output.text) for output in outputs]
            return make_plan(wanted, (project.output, project.tests))
        except RenderError as error:
            raise Findings(str(error)) from None
        except PlanError as error:
            raise Failure(str(error)) from None


def checked_workspace(project: Project, form: str = "text") -> Workspace:
    """Read and check every declaration.  Raises Failure when any has an error; all findings are printed."""
    require_declarations(project)
    packages = {name: project.import_root / name for name in project.packages}
    with working(f"checking {project.relative(project.opdefs)}"):
        library = resources("opdefs")
        parents = None if library == project.opdefs else read_sources(library)
        sources = read_sources(project.opdefs, project.root)
        ops, found = check_project(sources, packages, library=parents)
    for path in sources.passed_over:
        note(f"{path} is not read: the file of a declaration is called *.yaml", WARNING)
    report(found, form)
    errors = sum(finding.is_error for finding in found)
    if errors:
        raise Findings(f"{errors} error{'s' if errors > 1 else ''} in declarations; nothing was written")
    return Workspace(project, tuple(sorted(ops, key=lambda op: op.name)))


def require_declarations(project: Project) -> None:
    """Raises Failure where the folder of declarations is none."""
    if not project.opdefs.is_dir():
        raise Failure(f"there is no folder {project.opdefs}; [tool.opgen] opdefs names it")


def report(found: Sequence[Diagnostic], form: str) -> None:
    """Print all findings: text to stderr, JSON to stdout."""
    if form == "json":
        click.echo(to_json(found))
    elif found:
        click.echo(to_text(found), err=True)


def declaration_files(project: Project) -> Sequence[Path]:
    """All declarations of the project, sorted."""
    return sorted(project.opdefs.rglob("*.yaml")) if project.opdefs.is_dir() else []
