"""How a command ends when it does not end well."""

from __future__ import annotations

from typing import IO, Any

import click


class Failure(click.ClickException):
    """The command cannot be carried out as asked: exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"opgen: {self.format_message()}", file=file, err=file is None)


class Findings(Failure):
    """The work found something wrong with the project: exit code 1."""

    exit_code = 1
