"""Scans and updates: operations whose order is part of their meaning."""

from __future__ import annotations

from ..arith import Binary, Expr, Var, cast, const
from ..schedule import ForKind
from ..schedule.inline import order_of
from ..te.tensor import Guard, Loop, Put, Read, Scan, State, Tensor, Update
from ..vocabulary import BOOL, INDEX
from .nest import ZERO, as_index
from .stmt import For, If, Load, Stmt, Store
from .values import ValueLowering
from .visit import block


def lower_scan(scan: Scan, values: ValueLowering) -> Stmt:
    """Rows of the scan axis one after the other; within a row the states in order.

    Where every state has the same other dims and is read at the same position of them, these loops stand outside
    and the outermost is parallel: the rows of one position depend on no other position.
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
    first = scan.states[0]
    outer = [first.axes[d] for d in _others(first)]
    step = Var(INDEX, "t")
    row = const(0, INDEX) + step if scan.direction > 0 else as_index(scan.extent) - 1 - step
    states = []
    for state in scan.states:
        env: dict[Var, Expr] = {state.axes[state.scan_axis].var: row}
        env.update({state.axes[d].var: axis.var for d, axis in zip(_others(state), outer, strict=True)})
        states.append(_state(state, env, values))
    body: Stmt = For(step, ZERO, as_index(scan.extent), ForKind.SERIAL, block(*states))
    for position, axis in reversed(list(enumerate(outer))):
        kind = ForKind.PARALLEL if position == 0 else ForKind.SERIAL
        body = For(axis.var, ZERO, as_index(axis.extent), kind, body)
    return body


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
