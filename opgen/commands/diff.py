"""`opgen diff OLD NEW`: what the changes between two versions of the declarations mean for callers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import click

from ..compare import Change, Comparison, compare_projects
from ..project import find_project
from .console import note, out
from .failure import Findings
from .reports import report
from .versions import version


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW", default=".")
@click.option("--breaking", is_flag=True, help="Only what breaks callers.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(old: str, new: str, breaking: bool, form: str) -> None:
    """Class every change of every op between OLD and NEW as compatible or breaking, with the reason.

    Each is a git revision, a folder (a project, or declarations alone) or a file of declarations; NEW is by default the
    current folder.  Bounds, shapes and values are compared by calls of both versions.  Exit code 1 if anything breaks
    callers.

    \b
      opgen diff HEAD
      opgen diff v1.0 v2.0 --breaking
      opgen diff old/softmax.yaml opdefs/nn/softmax.yaml
    """
    found = compared(old, new)
    changes = [each for each in found.changes if each.breaking or not breaking]
    if form == "json":
        click.echo(json.dumps([asdict(each) for each in changes], indent=2))
    else:
        show(changes)
    breaks = sum(each.breaking for each in found.changes)
    note(f"{len(found.changes)} changes, {breaks} of them breaking; {found.unchanged} ops are as they were")
    if found.found:
        report(found.found, "text")
        raise Findings("ops with errors in one of the versions are not compared")
    if breaks:
        raise SystemExit(1)


def compared(old: str, new: str) -> Comparison:
    """Two versions, named as on the command line, compared.  Raises Failure."""
    with tempfile.TemporaryDirectory() as scratch:
        project = find_project()
        first = version(old, project, Path(scratch) / "old")
        second = version(new, project, Path(scratch) / "new")
        return compare_projects(first, second)


def show(changes: Sequence[Change]) -> None:
    """The changes op by op."""
    for op, each in groupby(changes, key=lambda change: change.op):
        out.print(op, style="bold")
        for change in each:
            label = "breaking  " if change.breaking else "compatible"
            out.print(f"  {label}  {change.code}: {change.text}", style="magenta" if change.breaking else "")
