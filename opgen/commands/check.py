"""`opgen check`: are the generated files what the declarations say?"""

from __future__ import annotations

import click

from ..project import find_project
from . import console
from .console import note
from .failure import Findings
from .generated import plan_of
from .reports import report


@click.command()
@click.option("--quiet", "-q", is_flag=True, help="Name the files; no diff.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif"]), default="text", help="Of the findings."
)
@click.option(
    "--against",
    "revision",
    metavar="OLD",
    help="Also: no op breaks callers since OLD without a new `version:`.",
)
def command(quiet: bool, form: str, revision: str | None) -> None:
    """Render everything in memory and compare.  Writes nothing; exit code 1 when anything differs.

    With --against, a git revision, a folder or a file as in `opgen diff`, a change that breaks callers is an error too,
    unless its op has a greater `version:` than it had; one that breaks saved graphs needs an entry of `upgrades:`, too.
    """
    project = find_project()
    if revision is not None:
        _against(revision)
    plan = plan_of(project, form)
    for step in plan.steps:
        name = project.relative(step.path)
        note(f"{name}: {step.change.value}", "bold")
        if not quiet:
            console.diff(step.diff(name))
    if plan.steps:
        raise Findings(
            f"{len(plan.steps)} generated file(s) are not what the declarations say; run: opgen generate"
        )
    note(f"{plan.unchanged} generated files are up to date")


def _against(revision: str) -> None:
    from .diff import compared, show  # and with it the analysis

    found = compared(revision, ".")
    if found.found:
        report(found.found, "text")
        raise Findings(f"ops with errors here or in {revision} cannot be compared")
    broken = found.unannounced()
    if broken:
        show(broken)
        raise Findings(f"these changes since {revision} break callers; give the ops a new `version:`")
    if found.not_upgraded:
        show([change for change in found.changes if change.op in found.not_upgraded and change.breaks_saved])
        wanted = [f"{op} {', '.join(map(str, each))}" for op, each in found.not_upgraded.items()]
        raise Findings(
            f"these changes since {revision} break graphs that were saved; "
            f"say in `upgrades:` how calls of these versions become today's: {'; '.join(wanted)}"
        )
