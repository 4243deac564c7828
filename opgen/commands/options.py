"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from .completion import AttrText

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def of_a_call(op: str, shapes: str) -> Decorator:
    """--shape, --dtype and --attr: what `example_function` makes a call of; `op` is the argument that names the op.

    `shapes` says what --shape is for.
    """
    attr, dtypes = AttrText(op), "Once for all operands of OP, or once for each."

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option(
                "--attr",
                "attrs",
                multiple=True,
                metavar="NAME=VALUE",
                type=attr,
                help="An attr; may be repeated.",
            ),
            click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help=dtypes),
            click.option("--shape", "shapes", multiple=True, metavar="4,4,1", help=shapes),
        ):
            command = option(command)
        return command

    return decorate
