"""Reference evaluation of scalar expressions, one value at a time, with exactly the run-time semantics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ..errors import LoweringError
from .expr import Binary, Bitcast, Call, Cast, Compare, Const, Expr, Not, Select, Table, Var
from .intrinsics import intrinsic
from .semantics import Number, binary, compare, complement, convert, reinterpret
from .visit import free_vars

_HINT: Final = 64
Leaf = Callable[[Expr], Number | None]


def evaluate_scalar(e: Expr, values: Mapping[Var, Number], leaf: Leaf | None = None) -> Number:
    """The value of `e`, given its vars.

    Selects are lazy.  `leaf(node)` may give the value of a node of a higher layer.  Float intrinsics are computed
    in float64 and rounded once.  Raises LoweringError for a var without value, an unknown node, or a table index
    out of range.
    """
    done: dict[int, Number] = {}
    stack: list[Expr] = [e]
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        missing = _needs(node, done)
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        done[id(node)] = _value(node, done, values, leaf)
    return done[id(e)]


def hinted(e: int | Expr) -> int:
    """The value of a size for the hints of its dims; those without a hint are taken to be 64."""
    if isinstance(e, int):
        return e
    values = {var: _HINT if var.hint is None else var.hint for var in free_vars(e)}
    return int(evaluate_scalar(e, values))


def _needs(node: Expr, done: dict[int, Number]) -> list[Expr]:
    """The children that must be known before `node` is: of a select, the condition, then the chosen side."""
    if isinstance(node, Select):
        if id(node.condition) not in done:
            return [node.condition]
        chosen = node.then if done[id(node.condition)] else node.otherwise
        return [] if id(chosen) in done else [chosen]
    if not isinstance(node, (Binary, Compare, Not, Cast, Bitcast, Call, Table)):
        return []
    return [c for c in reversed(node.children()) if id(c) not in done]


def _value(node: Expr, done: dict[int, Number], values: Mapping[Var, Number], leaf: Leaf | None) -> Number:
    if isinstance(node, Const):
        return node.value
    if isinstance(node, Var) and node in values:
        return values[node]
    if isinstance(node, Binary):
        return binary(node.op, node.dtype, done[id(node.a)], done[id(node.b)])
    if isinstance(node, Compare):
        return compare(node.op, done[id(node.a)], done[id(node.b)])
    if isinstance(node, Select):
        return done[id(node.then if done[id(node.condition)] else node.otherwise)]
    if isinstance(node, Not):
        return complement(node.dtype, done[id(node.a)])
    if isinstance(node, Cast):
        return convert(done[id(node.a)], node.a.dtype, node.dtype)
    if isinstance(node, Bitcast):
        return reinterpret(done[id(node.a)], node.a.dtype, node.dtype)
    if isinstance(node, Call):
        return intrinsic(node.name, node.args[0].dtype, tuple(done[id(a)] for a in node.args))
    if isinstance(node, Table):
        index = int(done[id(node.index)])
        if not 0 <= index < len(node.values):
            raise LoweringError(f"table index {index} is outside 0 <= index < {len(node.values)}")
        return node.values[index]
    found = leaf(node) if leaf is not None else None
    if found is None:
        what = f"the var {node.name}" if isinstance(node, Var) else f"{type(node).__name__} ({node})"
        raise LoweringError(f"cannot evaluate {what}: no value is given for it")
    return found
