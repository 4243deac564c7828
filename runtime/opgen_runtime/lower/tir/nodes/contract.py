"""What loop IR must be: as it is lowered, and as code generation takes it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from ....base.arith.expr import Binary, Compare, Expr, Select, Var
from ....base.arith.visit import post_order
from ....base.contract import Contract, Rule, When
from ....base.errors import LoweringError
from ...schedule.stages.kind import ForKind
from .stmt import (
    Aligned,
    Allocate,
    Buffer,
    CallPacked,
    For,
    HorizontalReduce,
    Load,
    Outlined,
    Prefetch,
    PrimFunc,
    Ramp,
    Repetition,
    Shuffle,
    Splat,
    Stmt,
    Store,
    TransposedLoad,
)
from .visit import bound, children, exprs, statements


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
    """A buffer is a parameter, or used inside its one allocation, or inside the kind whose column it is."""
    params = {id(buffer) for buffer in (*view.func.inputs, *view.func.outputs)}
    for stmt, known in _scopes(view, params, Buffer):
        for buffer in _used(view, stmt):
            if id(buffer) not in known:
                return f"buffer {buffer.name} is used where it is not allocated"
        for buffer in _params_of_rows(stmt):
            if id(buffer) not in params:
                return f"buffer {buffer.name} stands in a row of a table, and is no parameter"
        for made in bound(stmt):
            if isinstance(made, Buffer) and id(made) in known:
                return f"buffer {made.name} is allocated twice"
    return None


def _scopes(
    view: View, outside: Collection[int], kind: type[Var | Buffer]
) -> Iterator[tuple[Stmt, set[int]]]:
    """Each statement with the ids of what is bound around it, of one kind; `outside`: around the body."""
    known = set(outside)
    stack: list[tuple[Stmt | None, Var | Buffer | None]] = [(view.func.body, None)]
    while stack:
        stmt, leave = stack.pop()
        if leave is not None:
            known.discard(id(leave))
            continue
        assert stmt is not None
        yield stmt, known
        for made in bound(stmt):
            if isinstance(made, kind) and id(made) not in known:
                known.add(id(made))
                stack.append((None, made))
        stack.extend((part, None) for part in reversed(children(stmt)))


def _used(view: View, stmt: Stmt) -> list[Buffer]:
    """The buffers that a statement itself is about."""
    used = [stmt.buffer] if isinstance(stmt, Store | Prefetch) else []
    if isinstance(stmt, CallPacked):
        used += [*stmt.operands, stmt.target]
    for node in view.nodes(stmt):
        if isinstance(node, Load):
            used.append(node.buffer)
        elif isinstance(node, Aligned):
            used += node.buffers
    return used


def _params_of_rows(stmt: Stmt) -> list[Buffer]:
    if not isinstance(stmt, Repetition):
        return []
    return [value for _, values in stmt.rows for value in values if isinstance(value, Buffer)]


def _why_not_read_only(view: View) -> str | None:
    inputs = {id(buffer) for buffer in view.func.inputs}
    for stmt in view.statements:
        if isinstance(stmt, Repetition):  # a column that is an input in some row is one
            for number, values in stmt.rows:
                columns = zip(stmt.kinds[number].columns, values, strict=False)
                inputs.update(id(column) for column, value in columns if id(value) in inputs)
        written = (
            stmt.target if isinstance(stmt, CallPacked) else stmt.buffer if isinstance(stmt, Store) else None
        )
        if written is not None and id(written) in inputs:
            return f"input {written.name} is stored to"
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
    """A variable is a dim of the kernel or of a parameter, or used inside the statement that binds it."""
    known: set[int] = {id(var) for var in view.func.dims}
    for buffer in (*view.func.inputs, *view.func.outputs):
        for dim in buffer.shape:
            if isinstance(dim, Expr):
                known.update(id(node) for node in post_order(dim) if isinstance(node, Var))
    for stmt, inside in _scopes(view, known, Var):
        for node in view.nodes(stmt):
            if isinstance(node, Var) and id(node) not in inside:
                return f"variable {node.name} is used where it is not bound"
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
    """The parts of an expression are scalars or vectors of one width; shuffled ones have the lanes that are taken."""
    lanes: dict[int, int] = {}  # of vectors
    for node in view.expressions():
        wide = {lanes[id(child)] for child in node.children() if id(child) in lanes}
        if len(wide) > 1 and not isinstance(node, Ramp | Splat | HorizontalReduce):
            return f"{node} joins vectors of {' and '.join(map(str, sorted(wide)))} lanes"
        if isinstance(node, Ramp | Splat):
            lanes[id(node)] = node.lanes
        elif isinstance(node, Shuffle):
            for width in wide:
                last = width * len(node.vectors)
                if not all(0 <= index < last for index in node.indices):
                    return f"{node} takes a lane outside 0 <= lane < {last}"
            lanes[id(node)] = len(node.indices)
        elif wide and not isinstance(node, HorizontalReduce):
            lanes[id(node)] = wide.pop()
    return None


def _why_not_transposed(view: View) -> str | None:
    """A square: as many columns as lanes, a power of two, of one dtype, read at a sequence of positions."""
    for stmt in view.statements:
        if not isinstance(stmt, TransposedLoad):
            continue
        load, count = stmt.load, len(stmt.variables)
        index = load.indices[0] if len(load.indices) == 1 else None
        if not isinstance(index, Ramp):
            return f"{load} is transposed, and no sequence of positions"
        if index.lanes != count or count & (count - 1):
            return f"{load} of {index.lanes} lanes is transposed to {count} columns"
        for var in stmt.variables:
            if var.dtype != load.dtype:
                return f"{load} of {load.dtype} is transposed to {var.name} of {var.dtype}"
    return None


def _why_not_rows(view: View) -> str | None:
    """A row of a table is of a kind that is there, and has a value for each of its columns."""
    for stmt in view.statements:
        for number, values in stmt.rows if isinstance(stmt, Repetition) else ():
            assert isinstance(stmt, Repetition)
            if not 0 <= number < len(stmt.kinds):
                return f"a row is of kind {number}, of {len(stmt.kinds)}"
            columns = stmt.kinds[number].columns
            if len(columns) != len(values):
                return f"a row of {len(values)} values is of kind {number}, which has {len(columns)} columns"
            for column, value in zip(columns, values, strict=True):
                if isinstance(column, Buffer) is not isinstance(value, Buffer):
                    return f"column {column.name} of kind {number} is {value}"
                if isinstance(value, Buffer) and isinstance(column, Buffer) and value.dtype != column.dtype:
                    return f"column {column.name} of {column.dtype} is {value.name} of {value.dtype}"
    return None


def _why_not_steps(view: View) -> str | None:
    for stmt in view.statements:
        if isinstance(stmt, For) and stmt.step < 1:
            return f"the loop over {stmt.var.name} goes on by {stmt.step}"
        if isinstance(stmt, For) and stmt.condition is not None and not stmt.condition.dtype.is_bool:
            return f"the loop over {stmt.var.name} goes on while {stmt.condition}, which is no bool"
    return None


def _why_not_common(view: View) -> str | None:
    """The nodes that the last phases make, which no other phase knows."""
    for stmt in view.statements:
        if isinstance(stmt, TransposedLoad | Outlined | Repetition):
            return f"found {type(stmt).__name__}"
        if isinstance(stmt, For) and (stmt.step != 1 or stmt.condition is not None or stmt.work is not None):
            return f"the loop over {stmt.var.name} has a step, a condition or its work"
        if isinstance(stmt, Store) and stmt.nontemporal:
            return f"{stmt.buffer.name} is stored to past the caches"
    for node in view.expressions():
        if isinstance(node, Shuffle | Aligned):
            return f"found {type(node).__name__}: {node}"
    return None


COMMON: Final = Rule("nodes that every phase knows", _why_not_common)
LOWERED: Final = Contract(
    "loop IR",
    LoweringError,
    When.ALWAYS,
    (
        Rule("rows fit their kinds", _why_not_rows),
        Rule("buffers are declared", _why_not_declared),
        Rule("inputs are only read", _why_not_read_only),
        Rule("as many indices as dims", _why_not_rank),
        Rule("dtypes agree", _why_not_dtype),
        Rule("no free variable", _why_not_bound),
        Rule("loops go on", _why_not_steps),
        Rule("transposed loads are squares", _why_not_transposed),
        COMMON,
    ),
)
FLAT: Final = Rule("buffers are flat", _why_not_flat)
LANES: Final = Rule("lanes agree", _why_not_lanes)
SINGLE: Final = Rule("no double buffer", _why_not_single)
