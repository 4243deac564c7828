"""What a statement is made of: its work, by which threads share loops, and whether it is vectorised already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ....base import GENERIC
from ....base.arith.expr import Binary, Call, Const, Expr, Var
from ....base.arith.intrinsics import ELEMENT_FUNCTIONS
from ....base.arith.visit import is_size
from ....base.vocabulary import INDEX
from ..nodes.stmt import (
    Allocate,
    Block,
    For,
    HorizontalReduce,
    If,
    LetStmt,
    Load,
    Outlined,
    Ramp,
    Repetition,
    Shuffle,
    Splat,
    Stmt,
    Store,
    TransposedLoad,
)
from ..nodes.visit import children

_UNKNOWN_EXTENT: Final = 16
# In operations: loop IR is of no machine, so the costs are those of the generic one.
_FUNCTION, _DIVISION = (round(GENERIC.cycles[name]) for name in ("function", "division"))
_DIVISIONS: Final = ("div", "floordiv", "floormod", "truncdiv")
_NOTHING: Final[Mapping[Var, int]] = {}


def iteration_cost(stmt: Stmt, known: Mapping[Var, int] = _NOTHING) -> int | Expr:
    """Element operations of one run of `stmt`, an expression of its symbolic dims.

    The unit is that of `Machine.cycles`: an addition is one, a division and a function are what they
    are on the generic machine.
    A loop of unknown extent counts as a short one; `known` are variables whose values are.
    """
    match stmt:
        case Block(body):
            total: int | Expr = 0
            for part in body:
                total = total + iteration_cost(part, known)
            return total
        case For():
            return _loop_cost(stmt, known)
        case If():
            then = iteration_cost(stmt.then, known)
            otherwise = 0 if stmt.otherwise is None else iteration_cost(stmt.otherwise, known)
            if isinstance(then, int) and isinstance(otherwise, int):
                return 1 + max(then, otherwise)
            return then + otherwise
        case Allocate() | LetStmt() | Outlined():
            return iteration_cost(stmt.body, known)
        case TransposedLoad():
            return iteration_cost(stmt.body, known) + len(stmt.variables) * _expression_cost((stmt.load,))
        case Repetition():
            total = 0
            for number, values in stmt.rows:
                kind = stmt.kinds[number]
                own = {c: v for c, v in zip(kind.columns, values, strict=True) if isinstance(c, Var)}
                numbers = {column: value for column, value in own.items() if isinstance(value, int)}
                total = total + iteration_cost(kind.statement, {**known, **numbers})
            return total
        case Store():
            return _store_cost(stmt)
    return 1


def _loop_cost(loop: For, known: Mapping[Var, int]) -> int | Expr:
    body, extent = iteration_cost(loop.body, known), loop.extent
    if loop.condition is not None:
        body = 1 + body
    if not isinstance(extent, Const) and is_size(extent):
        return extent * body if loop.step == 1 else extent // loop.step * body
    count = known.get(extent, _UNKNOWN_EXTENT) if isinstance(extent, Var) else _UNKNOWN_EXTENT
    if isinstance(extent, Const):
        count = int(extent.value)
    return body * max(1, count // loop.step)


def _store_cost(stmt: Store) -> int:
    """Of a store of shuffled vectors what storing each of them would cost."""
    value = stmt.value
    if not isinstance(value, Shuffle):
        return _expression_cost((value, *stmt.indices))
    bases = [index.base if isinstance(index, Ramp) else index for index in stmt.indices]
    return sum(_expression_cost((vector, *bases)) for vector in value.vectors)


def _expression_cost(roots: tuple[Expr, ...]) -> int:
    operations, lanes = 1, 1
    seen: set[int] = set()
    stack: list[Expr] = list(roots)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Ramp | Splat):
            lanes = max(lanes, node.lanes)
        elif isinstance(node, Call):
            function = ELEMENT_FUNCTIONS.get(node.name)
            operations += 1 if function is None or function.cheap else _FUNCTION
        elif isinstance(node, Binary) and node.op in _DIVISIONS and node.dtype is not INDEX:
            operations += _DIVISION
        elif isinstance(node, Load) or node.children():
            operations += 1
        stack.extend(node.children())
    return operations * lanes


def has_vectors(stmt: Stmt) -> bool:
    """Whether a statement has explicit vector operations."""
    if isinstance(stmt, Store):
        return _has_vector_nodes((*stmt.indices, stmt.value))
    if isinstance(stmt, TransposedLoad):
        return True
    return any(has_vectors(part) for part in children(stmt))


def _has_vector_nodes(roots: tuple[Expr, ...]) -> bool:
    seen: set[int] = set()
    stack: list[Expr] = list(reversed(roots))
    while stack:
        node = stack.pop()
        if isinstance(node, Ramp | Splat | HorizontalReduce):
            return True
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(node.children())
    return False
