"""`opgen generate`: bring the generated files in line with the declarations."""

from __future__ import annotations

from collections.abc import Callable

import click

from ..emit import Change, Plan, apply
from ..project import Project, find_project
from .alone import alone
from .console import WARNING, note, out
from .failure import Failure
from .generated import plan_of
from .leftovers import remove_leftovers
from .mend import mend
from .scheduler_option import on_a_cluster

_VERBS = {
    Change.MISSING: "new",
    Change.STALE: "changed",
    Change.EDITED: "restored",
    Change.ORPHANED: "removed",
}


@click.command()
@click.option(
    "--watch", is_flag=True, help="Stay and regenerate whenever a declaration or a template changes."
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif"]), default="text", help="Of the findings."
)
@click.option("--fix", is_flag=True, help="First mend misspelt keys, names and values in the declarations.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Processes for the work; default: as many as it is worth.",
)
@on_a_cluster
def command(watch: bool, form: str, fix: bool, jobs: int | None, scheduler: str | None) -> None:
    """Check every declaration and write the generated files that are missing or stale, and no others.

    Files of removed declarations are removed.  Files without opgen's header are never touched.  When a
    declaration has an error, nothing is written.
    """
    project = find_project()
    if fix:
        mend(project)
    if not watch:
        generate(project, form, jobs, scheduler)
        return
    try:
        from watchfiles import watch as changes
    except ImportError:
        raise Failure("--watch needs the package watchfiles: pip install 'opgen[watch]'") from None
    watched = (project.opdefs, project.rewrites, project.templates)
    folders = [folder for folder in watched if folder is not None and folder.is_dir()]
    note(f"watching {', '.join(project.relative(folder) for folder in folders)}; Ctrl-C ends")
    try:
        _attempt(project, form, jobs, scheduler)
        for _ in changes(*folders):
            _attempt(project, form, jobs, scheduler)
    except KeyboardInterrupt:  # files are written whole or not at all
        note("no longer watching")


def _attempt(project: Project, form: str, jobs: int | None, scheduler: str | None) -> None:
    try:
        generate(project, form, jobs, scheduler)
    except Failure as failure:
        failure.show()


def generate(
    project: Project, form: str = "text", jobs: int | None = None, scheduler: str | None = None
) -> Plan:
    """Carry the plan of `project` out and say what was done.  Raises Failure.

    A second run waits for the first before it reads anything, so that the files end as the newest declarations say.
    """
    with alone(project.root) as is_alone:
        if is_alone:
            _writing(lambda: remove_leftovers(project.folders))
        plan = plan_of(project, form, jobs, scheduler)
        _writing(lambda: apply(plan))
    for step in plan.steps:
        out.print(f"  {_VERBS[step.change]:9}{project.relative(step.path)}")
    edited = sum(step.change is Change.EDITED for step in plan.steps)
    if edited:
        note(
            f"{edited} file(s) had been edited by hand; change the declaration or the template instead",
            WARNING,
        )
    done = f"{len(plan.steps)} written or removed, " if plan.steps else ""
    note(f"{done}{plan.unchanged} up to date")
    return plan


def _writing(work: Callable[[], None]) -> None:
    try:
        work()
    except OSError as error:
        raise Failure(f"cannot write the generated files: {error}; run opgen generate again") from None
