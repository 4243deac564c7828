"""Source text in colours, for the commands that show some."""

from __future__ import annotations

from typing import Final

import click
from pygments import token
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax

from .console import out

_SOURCE: Final = ANSISyntaxTheme(
    {
        token.Comment: Style(dim=True),
        token.Keyword: Style(bold=True),
        token.Literal.Number: Style(color="magenta"),
        token.Literal.String: Style(color="green"),
        token.Name.Builtin: Style(bold=True),
        token.Name.Tag: Style(bold=True),
    }
)


def code(text: str, language: str) -> None:
    """Source text, coloured on a terminal and exact elsewhere."""
    if out.is_terminal:
        out.print(Syntax(text.rstrip("\n"), language, theme=_SOURCE, word_wrap=False))
    else:
        click.echo(text.rstrip("\n"))
