"""The generated files of a project as they should be, with everything that is wrong told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..emit import Plan, PlanError
from ..generation.generate import Generation
from ..generation.generate import generate as generation
from ..project import Project
from .console import WARNING, note, working
from .failure import Failure, Findings
from .reports import report, require_declarations

_THREADS_OF_NUMPY: Final = "OPENBLAS_NUM_THREADS"


def generation_of(
    project: Project, form: str = "text", processes: int | None = None, scheduler: str | None = None
) -> Generation:
    """The project, checked, by the workers of a scheduler's cluster if there is one.

    Raises Failure when a declaration has an error; all are printed.
    """
    require_declarations(project)
    with working(f"checking {project.relative(project.opdefs)}"), _no_threads():
        made = generation(project, processes) if scheduler is None else _by_workers(project, scheduler)
    for path in made.passed_over:
        note(f"{path} is not read: the file of a declaration is called *.yaml", WARNING)
    report(made.found, form)
    errors = sum(finding.is_error for finding in made.found)
    if errors:
        raise Findings(f"{errors} error{'s' if errors > 1 else ''} in declarations; nothing was written")
    if made.problem is not None:
        raise Findings(made.problem)
    return made


def _by_workers(project: Project, scheduler: str) -> Generation:
    from ..generation.elsewhere import Elsewhere
    from .scheduler import cluster  # and with it what few runs need

    with cluster(scheduler) as pool:
        return generation(project, pool.count, Elsewhere(pool.each))


@contextmanager
def _no_threads() -> Iterator[None]:
    """numpy starts none where it is imported inside: nothing here needs them, and a process of one thread can be forked
    with all that it has imported.
    """
    given = os.environ.get(_THREADS_OF_NUMPY)
    os.environ[_THREADS_OF_NUMPY] = "1"
    try:
        yield
    finally:
        if given is None:
            del os.environ[_THREADS_OF_NUMPY]
        else:
            os.environ[_THREADS_OF_NUMPY] = given


def plan_of(
    project: Project, form: str = "text", processes: int | None = None, scheduler: str | None = None
) -> Plan:
    """What must be done to the generated files.  Raises Failure."""
    try:
        return generation_of(project, form, processes, scheduler).plan()
    except PlanError as error:
        raise Failure(str(error)) from None
