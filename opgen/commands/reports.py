"""Findings about declarations, as commands print them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ..diagnostics import Diagnostic, to_json, to_sarif, to_text
from ..project import Project
from .failure import Failure


def require_declarations(project: Project) -> None:
    """Raises Failure where the folder of declarations is none."""
    if not project.opdefs.is_dir():
        raise Failure(f"there is no folder {project.opdefs}; [tool.opgen] opdefs names it")


def report(found: Sequence[Diagnostic], form: str) -> None:
    """Print all findings: text to stderr, JSON and SARIF to stdout."""
    if form == "json":
        click.echo(to_json(found))
    elif form == "sarif":
        click.echo(to_sarif(found))
    elif found:
        click.echo(to_text(found), err=True)
