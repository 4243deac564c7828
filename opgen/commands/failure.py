"""How a command ends when it does not end well."""

from __future__ import annotations

import click


class Failure(click.ClickException):
    """The command cannot be carried out as asked: exit code 2."""

    exit_code = 2


class Findings(Failure):
    """The work found something wrong with the project: exit code 1."""

    exit_code = 1
