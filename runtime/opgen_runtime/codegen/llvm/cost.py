"""What a statement is made of: its work, to size the shares of threads, and whether it is vectorised already."""

from __future__ import annotations

from typing import Final

from ...base.arith.expr import Call, Const, Expr
from ...base.arith.visit import is_size
from ...lower.tir.nodes.stmt import (
    Allocate,
    Block,
    For,
    HorizontalReduce,
    If,
    LetStmt,
    Load,
    Ramp,
    Splat,
    Stmt,
    Store,
)

_UNKNOWN_EXTENT: Final = 16
_CALL_COST: Final = 8  # a transcendental function against an addition


def iteration_cost(stmt: Stmt) -> int | Expr:
    """Element operations of one run of `stmt`, an expression of its symbolic dims.

    A loop of unknown extent counts as a short one.
    """
    match stmt:
        case Block(body):
            total: int | Expr = 0
            for part in body:
                total = total + iteration_cost(part)
            return total
        case For():
            if not isinstance(stmt.extent, Const) and is_size(stmt.extent):
                return stmt.extent * iteration_cost(stmt.body)
            extent = stmt.extent.value if isinstance(stmt.extent, Const) else _UNKNOWN_EXTENT
            return iteration_cost(stmt.body) * max(1, int(extent))
        case If():
            then = iteration_cost(stmt.then)
            otherwise = 0 if stmt.otherwise is None else iteration_cost(stmt.otherwise)
            if isinstance(then, int) and isinstance(otherwise, int):
                return 1 + max(then, otherwise)
            return then + otherwise
        case Allocate() | LetStmt():
            return iteration_cost(stmt.body)
        case Store():
            return _expression_cost((stmt.value, *stmt.indices))
    return 1


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
            operations += _CALL_COST
        elif isinstance(node, Load) or node.children():
            operations += 1
        stack.extend(node.children())
    return operations * lanes


def has_vectors(stmt: Stmt) -> bool:
    """Whether a statement has explicit vector operations."""
    match stmt:
        case Block(body):
            return any(has_vectors(part) for part in body)
        case For() | Allocate() | LetStmt():
            return has_vectors(stmt.body)
        case If():
            return has_vectors(stmt.then) or (stmt.otherwise is not None and has_vectors(stmt.otherwise))
        case Store():
            return _has_vector_nodes((*stmt.indices, stmt.value))
    return False


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
