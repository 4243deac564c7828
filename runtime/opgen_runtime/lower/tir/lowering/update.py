"""Updates: operations whose order is part of their meaning."""

from __future__ import annotations

from ....base.arith import Binary, Expr, Var, cast
from ....base.vocabulary import BOOL, INDEX
from ....compute.te.tensor import Guard, Loop, Put, Tensor, Update
from ...schedule import ForKind
from ..nodes.nest import ZERO, as_index
from ..nodes.stmt import For, If, Load, Stmt, Store
from ..nodes.visit import block
from .values import ValueLowering


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
        prelude.extend(before)
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
