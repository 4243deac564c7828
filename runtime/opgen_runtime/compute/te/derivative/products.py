"""Products over several axes, as products of the products of their lines: what is before and after a factor is short.

    out[()] = prod(a[i, j] for i for j)
-->
    out_lines[i] = prod(a[i, j] for j)     out[()] = prod(out_lines[i] for i)
"""

from __future__ import annotations

from collections.abc import Sequence

from ....base.arith import Expr, Var, free_vars, post_order, substitute
from ....base.vocabulary import INDEX
from ..tensor import Compute, IterVar, Read, Reduce, Tensor
from .stages import rewritten


def by_lines(outputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs, of which no product without a condition runs over several axes."""
    return rewritten(outputs, _by_lines)


def _by_lines(tensor: Tensor) -> Tensor | None:
    op = tensor.op
    if not isinstance(op, Compute) or not isinstance(op.body, Reduce) or op.body.combiner != "prod":
        return None
    node = op.body
    whole = (*op.axes, *node.axes)
    if (
        len(node.axes) < 2
        or node.condition is not None
        or not all([isinstance(a.extent, int) for a in whole])
    ):
        return None
    *across, along = node.axes
    axes = as_read(node.value, (*op.axes, *across))
    fresh = tuple([IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in axes])
    step = IterVar(Var(INDEX, along.var.name), along.extent, "reduce")
    names = {old.var: new.var for old, new in zip((*axes, along), (*fresh, step), strict=True)}
    line = Reduce(node.dtype, "prod", (step,), substitute(node.value, names), None)
    shape = tuple([axis.extent for axis in fresh])
    made = Tensor(f"{tensor.name}_lines", shape, node.dtype, Compute(fresh, line))
    read = Read(node.dtype, made, tuple([axis.var for axis in axes]))
    return Tensor(
        tensor.name,
        tensor.shape,
        tensor.dtype,
        Compute(op.axes, Reduce(node.dtype, "prod", tuple(across), read)),
    )


def as_read(value: Expr, axes: Sequence[IterVar]) -> tuple[IterVar, ...]:
    """The axes in the order in which the first thing that is read lies, those that it does not move with first."""
    own = {axis.var: axis for axis in axes}
    reads = [node for node in post_order(value) if isinstance(node, Read)]
    order: dict[IterVar, None] = {}
    for index in reads[0].indices if reads else ():
        order.update(dict.fromkeys([own[var] for var in free_vars(index) if var in own]))
    return (*[axis for axis in axes if axis not in order], *order)
