"""Primitives that change how the elements of a stage, or of one of its operands, lie in memory: flatten and pack."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...base.arith import Expr, Var, const, floordiv, floormod, post_order, rewrite, select, substitute
from ...base.errors import ScheduleError
from ...base.vocabulary import INDEX
from ...compute.te.tensor import Compute, IterVar, Read, Tensor
from .stage import Stage


def flattened(stage: Stage, count: int, multiple: int) -> tuple[Tensor, Expr]:
    """The tensor with the last `count` axes of a stage as one, and the stage's new body, which reads it.

    The one axis has a multiple of `multiple` elements; what it has beyond those of the stage is not defined.
    """
    kept, joined = stage.axes[: len(stage.axes) - count], stage.axes[len(stage.axes) - count :]
    extents = [axis.extent for axis in joined]
    if count < 1 or not all(isinstance(extent, int) for extent in extents):
        names = ", ".join(axis.var.name for axis in joined)
        raise ScheduleError(f"flatten of {names} on stage {stage.name}: they need constant extents")
    sizes = [int(extent) for extent in extents if isinstance(extent, int)]
    total = math.prod(sizes)
    column = IterVar(Var(INDEX, "_".join(axis.var.name for axis in joined)), -(-total // multiple) * multiple)
    axes = (*(IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in kept), column)
    values: dict[Var, Expr] = {old.var: new.var for old, new in zip(kept, axes, strict=False)}
    position: Expr = const(0, INDEX)
    inner = total
    for axis, size in zip(joined, sizes, strict=True):
        inner //= size
        outer = column.var if inner == 1 else floordiv(column.var, inner)
        values[axis.var] = outer if axis is joined[0] else floormod(outer, size)
        position = position + axis.var * inner
    assert stage.body is not None
    body = substitute(stage.body, values)
    tensor = Tensor(
        f"{stage.name}_flat", tuple(axis.extent for axis in axes), body.dtype, Compute(axes, body)
    )
    return tensor, Read(body.dtype, tensor, (*(axis.var for axis in kept), position))


def packed(
    stage: Stage, operand: Expr, axes: Sequence[IterVar], inside: Expr | None, panel: int | None = None
) -> tuple[Tensor, Expr]:
    """The tensor that holds `operand` over `axes`, and the stage's new body, which reads it.

    Where `inside` is false the tensor holds 0.  With `panel` the last axis lies in panels, one after the other.
    """
    assert stage.body is not None
    order = post_order(stage.body)
    if not any(node is operand for node in order):
        raise ScheduleError(f"pack on stage {stage.name}: its body does not have the operand")
    own = {axis.var for axis in axes}
    free = {
        node.name
        for node in post_order(operand)
        if isinstance(node, Var) and node not in own and any(axis.var is node for axis in _all(stage))
    }
    if free:
        raise ScheduleError(
            f"pack on stage {stage.name}: the operand also moves with {', '.join(sorted(free))}"
        )
    made = tuple(IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in axes)
    values: dict[Var, Expr] = {old.var: new.var for old, new in zip(axes, made, strict=True)}
    indices: tuple[Expr, ...] = tuple(axis.var for axis in axes)
    if panel is not None:
        column, extent = axes[-1].var, axes[-1].extent
        if not isinstance(extent, int) or extent % panel:
            raise ScheduleError(
                f"pack on stage {stage.name}: panels of {panel} elements do not divide {column.name}, of {extent}"
            )
        number = IterVar(Var(INDEX, f"{column.name}_o"), extent // panel)
        within = IterVar(Var(INDEX, f"{column.name}_i"), panel)
        made = (number, *made[:-1], within)
        values[column] = number.var * panel + within.var
        indices = (floordiv(column, panel), *indices[:-1], floormod(column, panel))
    body = operand if inside is None else _guarded(operand, inside)
    tensor = Tensor(
        f"{stage.name}_packed",
        tuple(axis.extent for axis in made),
        operand.dtype,
        Compute(made, substitute(body, values)),
    )
    read = Read(operand.dtype, tensor, indices)
    return tensor, rewrite(stage.body, lambda node: read if node is operand else None)


def _all(stage: Stage) -> tuple[IterVar, ...]:
    return (*stage.axes, *stage.reduce_axes)


def _guarded(operand: Expr, inside: Expr) -> Expr:
    return select(inside, operand, const(0, operand.dtype))
