"""Python text of plain values and calls, on one line; the layout stage breaks what is too long."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Final

from ..formatting import expression_text, quote

_ONE_LINE: Final = 1 << 30


class Code(str):
    """Text that already is Python; `literal` passes it through."""

    __slots__ = ()


def literal(value: object, library: str = "_l.") -> str:
    """A plain value as Python text.  Functions (`ast.Lambda`) and `Code` are code.

    `library`: what stands before `inf` and `nan`; nothing in documentation.  Raises TypeError for a value that has no
    literal.
    """
    match value:
        case Code():
            return value
        case ast.expr():
            return line_of(value)
        case None | bool():
            return str(value)
        case str():
            return quote(str(value))
        case int():
            return str(int(value))
        case float():
            return _float(value, library)
        case tuple():
            inner = ", ".join(literal(each, library) for each in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case list():
            return f"[{', '.join(literal(each, library) for each in value)}]"
        case Mapping():
            return (
                "{"
                + ", ".join(
                    f"{literal(key, library)}: {literal(each, library)}" for key, each in value.items()
                )
                + "}"
            )
    raise TypeError(f"no literal for a value of type {type(value).__name__}")


def _float(value: float, library: str) -> str:
    if math.isnan(value):
        return f"{library}nan"
    if math.isinf(value):
        return f"{library}inf" if value > 0 else f"-{library}inf"
    return repr(value)


def call(function: str, *arguments: object, **keywords: object) -> Code:
    """`function(arguments, keyword=value)`; every argument by `literal`."""
    parts = [literal(each) for each in arguments]
    parts.extend(f"{name}={literal(value)}" for name, value in keywords.items())
    return Code(f"{function}({', '.join(parts)})")


def line_of(node: ast.expr) -> str:
    """An expression on one line."""
    return expression_text(node, width=_ONE_LINE)


def camel_case(name: str) -> str:
    """`max_pool2d` -> `MaxPool2d`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
