"""The generated files of a project as they should be, with everything that is wrong told."""

from __future__ import annotations

from ..emit import Plan, PlanError
from ..generation.generate import Generation
from ..generation.generate import generate as generation
from ..project import Project
from .console import WARNING, note, working
from .failure import Failure, Findings
from .reports import report, require_declarations


def generation_of(project: Project, form: str = "text", processes: int | None = None) -> Generation:
    """The project, checked.  Raises Failure when a declaration has an error; all are printed."""
    require_declarations(project)
    with working(f"checking {project.relative(project.opdefs)}"):
        made = generation(project, processes)
    for path in made.passed_over:
        note(f"{path} is not read: the file of a declaration is called *.yaml", WARNING)
    report(made.found, form)
    errors = sum(finding.is_error for finding in made.found)
    if errors:
        raise Findings(f"{errors} error{'s' if errors > 1 else ''} in declarations; nothing was written")
    if made.problem is not None:
        raise Findings(made.problem)
    return made


def plan_of(project: Project, form: str = "text", processes: int | None = None) -> Plan:
    """What must be done to the generated files.  Raises Failure."""
    try:
        return generation_of(project, form, processes).plan()
    except PlanError as error:
        raise Failure(str(error)) from None
