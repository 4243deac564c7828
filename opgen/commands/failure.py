"""How a command ends when it does not end well."""

from __future__ import annotations

import click


class Failure(click.ClickException):
    """A message and an exit code: 1, something is wrong with the project; 2, the command cannot be carried out."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code
