"""Python text of plain values and expressions, on one line; the layout stage breaks what is too long."""

from __future__ import annotations

import ast

from ..formatting import expression_text
from ..model.statement import tree


def literal(value: object, library: str = "_l.") -> str:
    """A plain value as Python text, on one line.

    `library`: what stands before `inf` and `nan`; nothing in documentation.
    Raises TypeError for a value that has no literal.
    """
    return line_of(tree(value, library))


def line_of(node: ast.expr) -> str:
    """An expression on one line."""
    return expression_text(node, width=None)


def camel_case(name: str) -> str:
    """`max_pool2d` -> `MaxPool2d`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
