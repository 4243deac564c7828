"""Expressions of symbolic dims as values of JSON.

    n // 2 + 1      {"add": [{"floordiv": [{"dim": "n"}, 2]}, 1]}

A dim is known by its name there; what reads several attrs reads them with one table of dims.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...base.arith import CONSTRUCTORS, logical_not, select
from ...base.arith.expr import Binary, Compare, Const, Expr, Not, Select, Var, dim

DimTable = dict[str, Var]
"""The dims of a text, by name."""

_OTHERS: Final[dict[str, Callable[..., Expr]]] = {"select": select, "not": logical_not}


class ExpressionError(ValueError):
    """What is no expression of dims, or none that JSON can hold; the message says why."""


def expression_to_json(e: Expr, dims: DimTable) -> object:
    """The JSON of an expression; its dims are added to the table.

    Raises ExpressionError for what is not made of dims, and for two dims of one name.
    """
    if isinstance(e, Const):
        return e.value
    if isinstance(e, Var):
        if dims.setdefault(e.name, e) is not e:
            raise ExpressionError(f"two dims have the name {e.name!r}, by which JSON knows them")
        return {"dim": e.name}
    name = {Select: "select", Not: "not"}.get(type(e)) or (e.op if isinstance(e, Binary | Compare) else None)
    if name is None:
        raise ExpressionError(f"{e} is no expression of symbolic dims")
    return {name: [expression_to_json(child, dims) for child in e.children()]}


def expression_from_json(value: object, dims: DimTable) -> object:
    """The expression, or number, that `expression_to_json` wrote; dims that the table lacks are made and added."""
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ExpressionError(f"{value!r:.80} is no expression: expected one operation and its operands")
    ((name, parts),) = value.items()
    if name == "dim" and isinstance(parts, str):
        return dims.setdefault(parts, dim(parts))
    make = CONSTRUCTORS.get(name) or _OTHERS.get(name)
    if make is None or not isinstance(parts, list):
        raise ExpressionError(f"{value!r:.80} is no expression: no operation has the name {name!r}")
    return make(*[expression_from_json(part, dims) for part in parts])
