"""`opgen check`: are the generated files what the declarations say?"""

from __future__ import annotations

import click

from ..project import find_project
from . import console
from .console import note
from .failure import Findings
from .generated import plan_of


@click.command()
@click.option("--quiet", "-q", is_flag=True, help="Name the files; no diff.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="Of the findings."
)
def command(quiet: bool, form: str) -> None:
    """Render everything in memory and compare.  Writes nothing; exit code 1 when anything differs."""
    project = find_project()
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
