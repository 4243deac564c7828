"""A project, checked: what most commands start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import Diagnostics, did_you_mean, to_json, to_text
from ..emit import Plan, PlanError, emitter_digest, make_plan, render_project
from ..model import CheckedOp
from ..project import Project
from ..render import Renderer, RenderError
from .console import err, note, out
from .failure import Failure


@dataclass(frozen=True, slots=True)
class Workspace:
    """A project and its ops; only made when all declarations are free of errors."""

    project: Project
    ops: tuple[CheckedOp, ...]

    def op(self, name: str) -> CheckedOp:
        """The op called `name`, with or without the namespace.  Raises Failure."""
        bare = name.removeprefix(f"{self.project.namespace}.") if self.project.namespace else name
        for op in self.ops:
            if op.name == bare:
                return op
        names = [op.name for op in self.ops]
        hint = did_you_mean(bare, names) or f"`opgen list` shows the {len(names)} ops of this project"
        raise Failure(f"no op {name!r} in {self.project.opdefs}; {hint}", 2)

    def plan(self) -> Plan:
        """What must be done to the generated files.  Raises Failure."""
        project = self.project
        try:
            emitter = emitter_digest(project.templates)
            outputs = render_project(project, Renderer(project.templates), emitter, self.ops)
            wanted = [(output.path, output.text) for output in outputs]
            return make_plan(wanted, (project.output, project.tests))
        except RenderError as error:
            raise Failure(str(error), 1) from None
        except PlanError as error:
            raise Failure(str(error), 2) from None


def report(diagnostics: Diagnostics, form: str) -> None:
    """Print all findings: text to stderr, JSON to stdout."""
    found = diagnostics.sorted()
    if form == "json":
        out.print(to_json(found))
    elif found:
        err.print(to_text(found))
        errors = sum(finding.is_error for finding in found)
        if errors:
            note(f"{errors} error{'s' if errors > 1 else ''}", "bold red")


def declaration_files(project: Project) -> Sequence[Path]:
    """All declarations of the project, sorted."""
    return sorted(project.opdefs.rglob("*.yaml")) if project.opdefs.is_dir() else []
