"""What loop IR must be: as it is lowered, and as code generation takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....base.arith.expr import Binary, Compare, Expr, Select, Var
from ....base.arith.visit import post_order
from ....base.contract import Contract, Rule, When
from ....base.errors import LoweringError
from ...schedule.stages.kind import ForKind
from .stmt import (
    Allocate,
    Block,
    Buffer,
    For,
    HorizontalReduce,
    If,
    LetStmt,
    Load,
    Prefetch,
    PrimFunc,
    Ramp,
    Splat,
    Stmt,
    Store,
)
from .visit import exprs, statements


class View:
    """Loop IR as rules look at it: each statement with the distinct expressions in it, found once."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.statements = list(statements(func.body))
        self._nodes: dict[int, list[Expr]] = {}

    def nodes(self, stmt: Stmt) -> list[Expr]:
        """The expressions of a statement and all inside them, operands first."""
        found = self._nodes.get(id(stmt))
        if found is None:
            found = self._nodes[id(stmt)] = [node for expr in exprs(stmt) for node in post_order(expr)]
        return found

    def expressions(self) -> Iterator[Expr]:
        """All expressions of all statements."""
        for stmt in self.statements:
            yield from self.nodes(stmt)


def check(contract: Contract[View], func: PrimFunc, stage: str, own: bool = True) -> None:
    """Hold loop IR to a contract where it is time to. Raises LoweringError naming the kernel, `stage` and the rule."""
    if contract.applies(own):
        contract.check(View(func), f"{func.name}, after {stage}", own)


def _accesses(view: View) -> Iterator[tuple[Buffer, tuple[Expr, ...], str]]:
    """Every buffer that is used, its indices and how."""
    for stmt in view.statements:
        if isinstance(stmt, Store):
            yield stmt.buffer, stmt.indices, "stored to"
        elif isinstance(stmt, Prefetch):
            yield stmt.buffer, stmt.indices, "fetched"
        for node in view.nodes(stmt):
            if isinstance(node, Load):
                yield node.buffer, node.indices, "read"


def _why_not_declared(view: View) -> str | None:
    """A buffer is a parameter, or used inside its one allocation."""
    params = {id(buffer) for buffer in (*view.func.inputs, *view.func.outputs)}
    known: set[int] = set(params)
    stack: list[tuple[Stmt | None, Buffer | None]] = [(view.func.body, None)]
    while stack:
        stmt, leave = stack.pop()
        if leave is not None:
            known.discard(id(leave))
            continue
        assert stmt is not None
        used = [stmt.buffer] if isinstance(stmt, Store | Prefetch) else []
        used += [node.buffer for node in view.nodes(stmt) if isinstance(node, Load)]
        for buffer in used:
            if id(buffer) not in known:
                return f"buffer {buffer.name} is used where it is not allocated"
        if isinstance(stmt, Allocate):
            if id(stmt.buffer) in known:
                return f"buffer {stmt.buffer.name} is allocated twice"
            known.add(id(stmt.buffer))
            stack.append((None, stmt.buffer))
        stack.extend((part, None) for part in reversed(_parts(stmt)))
    return None


def _parts(stmt: Stmt) -> tuple[Stmt, ...]:
    if isinstance(stmt, Block):
        return stmt.body
    if isinstance(stmt, If):
        return (stmt.then,) if stmt.otherwise is None else (stmt.then, stmt.otherwise)
    return (stmt.body,) if isinstance(stmt, For | Allocate | LetStmt) else ()


def _why_not_read_only(view: View) -> str | None:
    inputs = {id(buffer) for buffer in view.func.inputs}
    for stmt in view.statements:
        if isinstance(stmt, Store) and id(stmt.buffer) in inputs:
            return f"input {stmt.buffer.name} is stored to"
    return None


def _why_not_rank(view: View) -> str | None:
    for buffer, indices, how in _accesses(view):
        if len(indices) != len(buffer.shape):
            return f"buffer {buffer.name} of {len(buffer.shape)} dims is {how} with {len(indices)} indices"
    return None


def _why_not_flat(view: View) -> str | None:
    for buffer, _, _ in _accesses(view):
        if len(buffer.shape) != 1:
            return f"buffer {buffer.name} has {len(buffer.shape)} dims, not one"
    return None


def _why_not_dtype(view: View) -> str | None:
    """Stores, loads and the operands of an operation have one dtype."""
    for stmt in view.statements:
        if isinstance(stmt, Store) and stmt.value.dtype != stmt.buffer.dtype:
            return f"{stmt.value.dtype} is stored to {stmt.buffer.name}, which holds {stmt.buffer.dtype}"
        for node in view.nodes(stmt):
            reason = _why_not_operands(node)
            if reason is not None:
                return reason
    return None


def _why_not_operands(node: Expr) -> str | None:
    if isinstance(node, Load) and node.dtype != node.buffer.dtype:
        return f"{node.buffer.name}, which holds {node.buffer.dtype}, is read as {node.dtype}"
    if isinstance(node, Binary) and not node.a.dtype == node.b.dtype == node.dtype:
        return f"{node.op} of {node.a.dtype} and {node.b.dtype} gives {node.dtype}"
    if isinstance(node, Compare) and (node.a.dtype != node.b.dtype or not node.dtype.is_bool):
        return f"{node.op} of {node.a.dtype} and {node.b.dtype} gives {node.dtype}"
    if isinstance(node, Select):
        if not node.condition.dtype.is_bool:
            return f"a choice by {node.condition.dtype}"
        if not node.then.dtype == node.otherwise.dtype == node.dtype:
            return f"a choice of {node.then.dtype} and {node.otherwise.dtype} gives {node.dtype}"
    return None


def _why_not_bound(view: View) -> str | None:
    """A variable is a dim of a parameter, or used inside the loop or let that binds it."""
    known: set[int] = set()
    for buffer in (*view.func.inputs, *view.func.outputs):
        for dim in buffer.shape:
            if isinstance(dim, Expr):
                known.update(id(node) for node in post_order(dim) if isinstance(node, Var))
    stack: list[tuple[Stmt | None, Var | None]] = [(view.func.body, None)]
    while stack:
        stmt, leave = stack.pop()
        if leave is not None:
            known.discard(id(leave))
            continue
        assert stmt is not None
        for node in view.nodes(stmt):
            if isinstance(node, Var) and id(node) not in known:
                return f"variable {node.name} is used where it is not bound"
        if isinstance(stmt, For | LetStmt) and id(stmt.var) not in known:
            known.add(id(stmt.var))
            stack.append((None, stmt.var))
        stack.extend((part, None) for part in reversed(_parts(stmt)))
    return None


def no_loop(kind: ForKind) -> Rule[View]:
    """The rule that no loop runs as `kind`."""

    def why_not(view: View) -> str | None:
        for stmt in view.statements:
            if isinstance(stmt, For) and stmt.kind is kind:
                return f"the loop over {stmt.var.name} is still {kind.value}"
        return None

    return Rule(f"no {kind.value} loop", why_not)


def _why_not_single(view: View) -> str | None:
    for stmt in view.statements:
        if isinstance(stmt, Allocate) and stmt.buffer.scope == "double":
            return f"buffer {stmt.buffer.name} is still to be doubled"
    return None


def _why_not_lanes(view: View) -> str | None:
    """The parts of an expression are scalars or vectors of one width."""
    lanes: dict[int, int] = {}  # of vectors
    for node in view.expressions():
        if isinstance(node, Ramp | Splat):
            lanes[id(node)] = node.lanes
        elif lanes and id(node) not in lanes and not isinstance(node, HorizontalReduce):
            wide = {lanes[id(child)] for child in node.children() if id(child) in lanes}
            if len(wide) > 1:
                return f"{node} joins vectors of {' and '.join(map(str, sorted(wide)))} lanes"
            if wide:
                lanes[id(node)] = wide.pop()
    return None


LOWERED: Final = Contract(
    "loop IR",
    LoweringError,
    When.ALWAYS,
    (
        Rule("buffers are declared", _why_not_declared),
        Rule("inputs are only read", _why_not_read_only),
        Rule("as many indices as dims", _why_not_rank),
        Rule("dtypes agree", _why_not_dtype),
        Rule("no free variable", _why_not_bound),
    ),
)
FLAT: Final = Rule("buffers are flat", _why_not_flat)
LANES: Final = Rule("lanes agree", _why_not_lanes)
SINGLE: Final = Rule("no double buffer", _why_not_single)
