"""Scans and updates: operations whose order is part of their meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..arith import Binary, Expr, Var, cast, const, lt
from ..schedule import ForKind
from ..schedule.inline import order_of
from ..te.tensor import Guard, IterVar, Loop, Put, Read, Scan, State, Tensor, Update
from ..vocabulary import BOOL, INDEX
from .nest import ZERO, as_index, guarded
from .stmt import For, If, Load, Stmt, Store
from .values import ValueLowering
from .visit import block

Inner = Callable[[Stmt], Stmt]

_ROWS_TOGETHER: Final = 4  # independent chains of additions in flight
_COLUMNS: Final = 512  # of a block
_VECTOR_BYTES: Final = 64


def lower_scan(scan: Scan, values: ValueLowering) -> Stmt:
    """Rows of the scan axis one after the other; within a row the states in order.

    Where every state has the same other dims and is read at the same position of them, the positions are independent
    and are shared among threads.
    """
    if _is_separable(scan):
        return _separable(scan, values)
    step = Var(INDEX, "t")
    row = const(0, INDEX) + step if scan.direction > 0 else as_index(scan.extent) - 1 - step
    states = []
    for state in scan.states:
        assert state.body is not None
        env: dict[Var, Expr] = {state.axes[state.scan_axis].var: row}
        body = _state(state, env, values)
        for axis in reversed([a for d, a in enumerate(state.axes) if d != state.scan_axis]):
            body = For(axis.var, ZERO, as_index(axis.extent), ForKind.SERIAL, body)
        states.append(body)
    return For(step, ZERO, as_index(scan.extent), ForKind.SERIAL, block(*states))


def _others(state: State) -> list[int]:
    return [d for d in range(len(state.axes)) if d != state.scan_axis]


def _is_separable(scan: Scan) -> bool:
    first = scan.states[0]
    extents = [first.axes[d].extent for d in _others(first)]
    tensors = {state.tensor: state for state in scan.states}
    for state in scan.states:
        assert state.body is not None
        if [state.axes[d].extent for d in _others(state)] != extents:
            return False
        own = [state.axes[d].var for d in _others(state)]
        for node in order_of(state.body):
            if isinstance(node, Read) and node.tensor in tensors:
                read = tensors[node.tensor]
                if [node.indices[d] for d in _others(read)] != own:
                    return False
    return True


def _separable(scan: Scan, values: ValueLowering) -> Stmt:
    """Each position of the other dims on its own: all of them are independent."""
    first = scan.states[0]
    before = list(first.axes[: first.scan_axis])
    after = list(first.axes[first.scan_axis + 1 :])
    if after:
        return _columns(scan, before, after, values)
    if before and isinstance(before[-1].extent, int) and before[-1].extent >= _ROWS_TOGETHER:
        return _rows(scan, before, before[-1].extent, values)
    return _nest(before, _steps(scan, [axis.var for axis in before], values), shared=True)


def _steps(scan: Scan, position: Sequence[Expr], values: ValueLowering, inner: Inner | None = None) -> Stmt:
    """The loop over the scan axis at one position of the other dims; `inner` surrounds a row's statements."""
    step = Var(INDEX, "t")
    row = const(0, INDEX) + step if scan.direction > 0 else as_index(scan.extent) - 1 - step
    states = []
    for state in scan.states:
        env: dict[Var, Expr] = {state.axes[state.scan_axis].var: row}
        env.update({state.axes[d].var: at for d, at in zip(_others(state), position, strict=True)})
        made = _state(state, env, values)
        states.append(made if inner is None else inner(made))
    return For(step, ZERO, as_index(scan.extent), ForKind.SERIAL, block(*states))


def _nest(axes: Sequence[IterVar], body: Stmt, shared: bool) -> Stmt:
    """Loops over the axes, the outermost shared among threads."""
    for position, axis in reversed(list(enumerate(axes))):
        kind = ForKind.PARALLEL if shared and position == 0 else ForKind.SERIAL
        body = For(axis.var, ZERO, as_index(axis.extent), kind, body)
    return body


def _rows(scan: Scan, axes: list[IterVar], extent: int, values: ValueLowering) -> Stmt:
    """A scan along the last dim: a few rows at a time, since each one waits for its own last element."""
    outer = [axis.var for axis in axes[:-1]]
    whole = extent // _ROWS_TOGETHER
    group, member, rest = Var(INDEX, "group"), Var(INDEX, "member"), Var(INDEX, "rest")
    together = _steps(scan, [*outer, group * _ROWS_TOGETHER + member], values)
    together = For(member, ZERO, const(_ROWS_TOGETHER, INDEX), ForKind.VIRTUAL, together)
    kind = ForKind.SERIAL if outer else ForKind.PARALLEL
    body: Stmt = For(group, ZERO, const(whole, INDEX), kind, together)
    if extent % _ROWS_TOGETHER:
        alone = _steps(scan, [*outer, rest + whole * _ROWS_TOGETHER], values)
        body = block(body, For(rest, ZERO, const(extent % _ROWS_TOGETHER, INDEX), ForKind.SERIAL, alone))
    return _nest(axes[:-1], body, shared=True)


def _columns(scan: Scan, before: list[IterVar], after: list[IterVar], values: ValueLowering) -> Stmt:
    """A scan along another dim: rows of vectors along the last dim, in blocks that stay in the first-level cache."""
    last = after[-1]
    itemsize = max(state.tensor.dtype.itemsize for state in scan.states if state.tensor is not None)
    lanes = max(1, _VECTOR_BYTES // itemsize)
    if not isinstance(last.extent, int) or last.extent < lanes:
        position = [axis.var for axis in (*before, *after)]
        return _nest([*before, *after], _steps(scan, position, values), shared=True)
    blocks, width = -(-last.extent // _COLUMNS), min(_COLUMNS, -(-last.extent // lanes) * lanes)
    part, vector, lane = Var(INDEX, "part"), Var(INDEX, "vector"), Var(INDEX, "lane")
    column = part * _COLUMNS + vector * lanes + lane if blocks > 1 else vector * lanes + lane
    guards = [lt(column, last.extent)] if last.extent % lanes or last.extent % _COLUMNS else []

    def over_columns(made: Stmt) -> Stmt:
        made = For(lane, ZERO, const(lanes, INDEX), ForKind.VECTORIZED, guarded(guards, made))
        return For(vector, ZERO, const(width // lanes, INDEX), ForKind.SERIAL, made)

    middle = after[:-1]
    steps = _steps(scan, [*(axis.var for axis in (*before, *middle)), column], values, over_columns)
    outer = [*before, *middle]
    alone = sum(1 for axis in outer if axis.extent != 1) == 0
    body = For(part, ZERO, const(blocks, INDEX), ForKind.PARALLEL if alone else ForKind.SERIAL, steps)
    return _nest(outer, body, shared=not alone)


def _state(state: State, env: dict[Var, Expr], values: ValueLowering) -> Stmt:
    """One element of a state."""
    assert state.body is not None
    assert state.tensor is not None
    buffer = values.buffers[state.tensor]
    prelude, value = values.lower(state.body, env)
    indices = tuple(env.get(axis.var, axis.var) for axis in state.axes)
    return prelude.around(Store(buffer, indices, cast(value, buffer.dtype)))


def lower_update(tensor: Tensor, update: Update, values: ValueLowering) -> Stmt:
    """A copy of the base, then the statements in order."""
    target = values.buffers[tensor]
    source = values.buffers[update.base]
    statements = [_update(part, tensor, values) for part in update.body]
    if source is target:  # the base was computed in place
        return block(*statements)
    axes = [Var(INDEX, f"c{d}") for d in range(tensor.ndim)]
    copy: Stmt = Store(target, tuple(axes), Load(source.dtype, source, tuple(axes)))
    for var, extent in reversed(list(zip(axes, tensor.shape, strict=True))):
        copy = For(var, ZERO, as_index(extent), ForKind.SERIAL, copy)
    return block(copy, *statements)


def _update(part: Loop | Guard | Put, tensor: Tensor, values: ValueLowering) -> Stmt:
    if isinstance(part, Put):
        return _put(part, tensor, values)
    body = block(*(_update(inner, tensor, values) for inner in part.body))
    if isinstance(part, Guard):
        prelude, condition = values.lower(part.condition, {})
        return prelude.around(If(condition, body))
    extent = part.axis.extent
    if isinstance(extent, int):
        return For(part.axis.var, ZERO, as_index(extent), ForKind.SERIAL, body)
    prelude, trips = values.lower(extent, {})
    return prelude.around(For(part.axis.var, ZERO, cast(trips, INDEX), ForKind.SERIAL, body))


def _put(put: Put, tensor: Tensor, values: ValueLowering) -> Stmt:
    buffer = values.buffers[tensor]
    stmts: list[Stmt] = []
    indices: list[Expr] = []
    prelude, value = values.lower(put.value, {})
    for index in put.indices:
        before, position = values.lower(index, {})
        prelude.buffers.extend(before.buffers)
        prelude.stmts.extend(before.stmts)
        indices.append(cast(position, INDEX))
    if put.op != "=":
        old = Load(buffer.dtype, buffer, tuple(indices))
        value = _combined(put.op, old, cast(value, buffer.dtype))
    stmts.append(Store(buffer, tuple(indices), cast(value, buffer.dtype)))
    return prelude.around(block(*stmts))


def _combined(op: str, old: Expr, new: Expr) -> Expr:
    """One step of an update; min and max of bools are and, or."""
    if old.dtype is BOOL and op in ("min", "max"):
        op = "and" if op == "min" else "or"
    return Binary(old.dtype, op, old, new)
