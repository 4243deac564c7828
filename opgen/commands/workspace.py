"""A project, checked: what most commands start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..analyse import check_project, read_sources
from ..model import CheckedOp
from ..project import Project, resources
from .console import WARNING, note, working
from .failure import Failure, Findings
from .reports import report, require_declarations


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


def declaration_files(project: Project) -> Sequence[Path]:
    """All declarations of the project, sorted."""
    return sorted(project.opdefs.rglob("*.yaml")) if project.opdefs.is_dir() else []
