"""Source text in colours, for the commands that show some."""

from __future__ import annotations

import click

from .console import out


def code(text: str, language: str) -> None:
    """Source text, coloured on a terminal and exact elsewhere."""
    if out.is_terminal:
        from .drawn import drawn  # and with it pygments

        out.draw(drawn(text.rstrip("\n"), language))
    else:
        click.echo(text.rstrip("\n"))
