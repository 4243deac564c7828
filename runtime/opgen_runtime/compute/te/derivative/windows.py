"""Extrema over windows that overlap, as extrema of the extrema of their lines: fewer steps, and gathered both ways.

    out[y, x] = max(a[2*y + r, 2*x + s] for r for s)
-->
    out_lines[y, x] = max(a[y, 2*x + s] for s)     out[y, x] = max(out_lines[2*y + r, x] for r)

The first of equal extrema is the same one: the first in the first line that has it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....base.arith import Cast, Expr, Var, free_vars, substitute
from ....base.vocabulary import INDEX
from ..tensor import Compute, IterVar, Read, Reduce, Tensor
from .inverse import both, conjuncts
from .reductions import lie_apart
from .stages import rewritten


def separated(outputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs, of which no extremum has overlapping windows of several lines, where lines can be told apart."""
    return rewritten(outputs, _by_lines)


def _by_lines(tensor: Tensor) -> Tensor | None:
    """The tensor over the extrema of lines; None where it has no lines, or its windows lie apart."""
    op = tensor.op
    if (
        not isinstance(op, Compute)
        or not isinstance(op.body, Reduce)
        or op.body.combiner not in ("max", "min")
    ):
        return None
    node = op.body
    *across, along = node.axes
    read = node.value.a if isinstance(node.value, Cast) else node.value
    whole = (*op.axes, *node.axes)
    if not across or not isinstance(read, Read) or not all([isinstance(axis.extent, int) for axis in whole]):
        return None
    if along.extent == 1 or all([axis.extent == 1 for axis in across]):
        return None
    lines = _lines(read, {axis.var for axis in across}, [axis.var for axis in op.axes])
    if lines is None or lie_apart(op, node):
        return None
    outside = {*lines, *[axis.var for axis in across]}
    within: Expr | None = None
    between: Expr | None = None
    for condition in () if node.condition is None else conjuncts(node.condition):
        if outside.isdisjoint(free_vars(condition)):
            within = both(within, condition)
        elif along.var in free_vars(condition):
            return None
        else:
            between = both(between, condition)
    axes = tuple(
        [
            IterVar(
                Var(INDEX, axis.var.name),
                read.tensor.shape[lines[axis.var]] if axis.var in lines else axis.extent,
            )
            for axis in op.axes
        ]
    )
    step = IterVar(Var(INDEX, along.var.name), along.extent, "reduce")
    names = {old.var: new.var for old, new in zip((*op.axes, along), (*axes, step), strict=True)}
    own = {lines[old.var]: new.var for old, new in zip(op.axes, axes, strict=True) if old.var in lines}
    at = tuple([own.get(k, substitute(index, names)) for k, index in enumerate(read.indices)])
    element: Expr = Read(read.dtype, read.tensor, at)
    element = element if read is node.value else node.value.rebuild((element,))
    inside = None if within is None else substitute(within, names)
    line = Reduce(node.dtype, node.combiner, (step,), element, inside)
    made = Tensor(
        f"{tensor.name}_lines", tuple([axis.extent for axis in axes]), node.dtype, Compute(axes, line)
    )
    places = tuple([read.indices[lines[axis.var]] if axis.var in lines else axis.var for axis in op.axes])
    body = Reduce(node.dtype, node.combiner, tuple(across), Read(node.dtype, made, places), between)
    return Tensor(tensor.name, tensor.shape, tensor.dtype, Compute(op.axes, body))


def _lines(read: Read, across: set[Var], axes: Sequence[Var]) -> dict[Var, int] | None:
    """The data axes that go across lines, each with the index that it decides with axes of `across` alone."""
    found: dict[Var, int] = {}
    for k, index in enumerate(read.indices):
        used = set(free_vars(index))
        if used.isdisjoint(across):
            continue
        moved = used - across
        if len(moved) != 1 or not moved <= set(axes) or not moved.isdisjoint(found):
            return None
        found[moved.pop()] = k
    others = [index for k, index in enumerate(read.indices) if k not in found.values()]
    return found if found and all([found.keys().isdisjoint(free_vars(index)) for index in others]) else None
