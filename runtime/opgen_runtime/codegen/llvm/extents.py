"""Sizes made of symbolic dims, computed where a function begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...base.arith.expr import Binary, Const, Expr, Var
from ...base.arith.visit import post_order
from .text import FunctionText

_OPERATIONS: Final = {"add": "add", "mul": "mul", "sub": "sub", "floordiv": "sdiv"}


def entry_size(f: FunctionText, e: Expr, value_of: Callable[[Var], str]) -> str | None:
    """The operand of a size that is at least 0 at the function's entry; None where it is made of anything else.

    `value_of` gives the operand of a dim, which must be there at the entry.
    """
    done: dict[int, str] = {}
    order = post_order(e)
    if not all(_is_simple(node) for node in order):
        return None
    for node in order:
        if isinstance(node, Const):
            done[id(node)] = str(int(node.value))
        elif isinstance(node, Var):
            done[id(node)] = value_of(node)
        else:
            assert isinstance(node, Binary)
            instruction = _OPERATIONS[node.op]
            done[id(node)] = f.emit_entry(f"{instruction} i64 {done[id(node.a)]}, {done[id(node.b)]}")
    return done[id(e)]


def _is_simple(node: Expr) -> bool:
    if isinstance(node, Var):
        return node.size
    if isinstance(node, Binary) and node.op == "floordiv":  # of what is positive, rounded down as sdiv does
        return isinstance(node.b, Const) and int(node.b.value) > 0 and _has_no_minus(node.a)
    return isinstance(node, Const) or (isinstance(node, Binary) and node.op in _OPERATIONS)


def _has_no_minus(e: Expr) -> bool:
    return not any(
        (isinstance(node, Binary) and node.op == "sub") or (isinstance(node, Const) and node.value < 0)
        for node in post_order(e)
    )
