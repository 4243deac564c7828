"""Primitives that change how the elements of a stage, or of one of its operands, lie in memory: flatten, permute,
pad, round_up, divide and pack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from ....base.arith import (
    Analyzer,
    Const,
    Expr,
    Var,
    const,
    floordiv,
    floormod,
    free_vars,
    is_size,
    le,
    logical_and,
    lt,
    minimum,
    post_order,
    rewrite,
    select,
    substitute,
)
from ....base.errors import ScheduleError
from ....base.vocabulary import INDEX
from ....compute.te.tensor import Compute, IterVar, Read, Tensor
from ..stages.extents import ceil_div
from ..stages.stage import Stage


def flattened(stage: Stage, count: int, multiple: int) -> tuple[Tensor, Expr]:
    """The tensor with the last `count` axes of a stage as one, and the stage's new body, which reads it.

    The one axis has a multiple of `multiple` elements; those beyond the stage's own are not defined, and nothing is
    read for them that is not there.
    """
    kept, joined = stage.axes[: len(stage.axes) - count], stage.axes[len(stage.axes) - count :]
    if count < 1 or not all(isinstance(axis.extent, int) or is_size(axis.extent) for axis in joined):
        names = ", ".join(axis.var.name for axis in joined)
        raise ScheduleError(f"flatten of {names} on stage {stage.name}: they need extents that are known")
    total: int | Expr = 1
    for axis in joined:
        total = total * axis.extent
    column = IterVar(
        Var(INDEX, "_".join(axis.var.name for axis in joined)), ceil_div(total, multiple) * multiple
    )
    axes = (*(IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in kept), column)
    values: dict[Var, Expr] = {old.var: new.var for old, new in zip(kept, axes, strict=False)}
    position: Expr = const(0, INDEX)
    inner: int | Expr = 1
    for axis in reversed(joined):
        outer = column.var if isinstance(inner, int) and inner == 1 else floordiv(column.var, inner)
        values[axis.var] = outer if axis is joined[0] else floormod(outer, axis.extent)
        position = axis.var * inner + position
        inner = inner * axis.extent
    assert stage.body is not None
    divides = isinstance(total, int) and total % multiple == 0
    body = _limited(substitute(stage.body, values), [] if divides else [lt(column.var, total)])
    tensor = Tensor(
        f"{stage.name}_flat", tuple(axis.extent for axis in axes), body.dtype, Compute(axes, body)
    )
    return tensor, Read(body.dtype, tensor, (*(axis.var for axis in kept), position))


def permuted(stage: Stage, order: Sequence[IterVar]) -> tuple[Tensor, Expr]:
    """The tensor whose axes are those of a stage in another order, and the stage's new body, which reads it."""
    if len(order) != len(stage.axes) or {*order} != {*stage.axes}:
        given, own = (", ".join(axis.var.name for axis in axes) or "none" for axes in (order, stage.axes))
        raise ScheduleError(f"permute on stage {stage.name}: expected its data axes, {own}; found {given}")
    axes = tuple(IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in order)
    values: dict[Var, Expr] = {old.var: new.var for old, new in zip(order, axes, strict=True)}
    assert stage.body is not None
    body = substitute(stage.body, values)
    tensor = Tensor(
        f"{stage.name}_permuted", tuple(axis.extent for axis in axes), body.dtype, Compute(axes, body)
    )
    return tensor, Read(body.dtype, tensor, tuple(axis.var for axis in order))


def padded(stage: Stage, axis: IterVar, multiple: int) -> tuple[Tensor, Expr]:
    """The tensor whose `axis` has a multiple of `multiple` elements, and the stage's new body, which reads it.

    Those beyond the stage's own repeat the last one.
    """
    if not any(axis is own for own in stage.axes) or multiple < 1:
        raise ScheduleError(f"pad of {axis.var.name} on stage {stage.name}: it needs a data axis")
    axes = tuple(
        IterVar(
            Var(INDEX, own.var.name),
            ceil_div(own.extent, multiple) * multiple if own is axis else own.extent,
        )
        for own in stage.axes
    )
    values: dict[Var, Expr] = {
        old.var: minimum(new.var, old.extent - 1) if old is axis else new.var
        for old, new in zip(stage.axes, axes, strict=True)
    }
    assert stage.body is not None
    body = substitute(stage.body, values)
    tensor = Tensor(
        f"{stage.name}_padded", tuple(own.extent for own in axes), body.dtype, Compute(axes, body)
    )
    return tensor, Read(body.dtype, tensor, tuple(own.var for own in stage.axes))


def rounded_up(stage: Stage, multiples: Mapping[IterVar, int]) -> tuple[Tensor, Expr]:
    """The tensor in which each axis of `multiples` has a multiple of so many elements, and the stage's new body.

    Those beyond the stage's own are not defined; nothing is read for them that is not there.
    """
    for axis, number in multiples.items():
        if not any(axis is own for own in stage.axes) or number < 1:
            raise ScheduleError(
                f"round_up of {axis.var.name} to a multiple of {number} on stage {stage.name}: "
                "it needs a data axis and a multiple of at least 1"
            )
    extents = [
        ceil_div(own.extent, multiples[own]) * multiples[own] if own in multiples else own.extent
        for own in stage.axes
    ]
    axes = tuple(
        IterVar(Var(INDEX, own.var.name), extent) for own, extent in zip(stage.axes, extents, strict=True)
    )
    values: dict[Var, Expr] = {old.var: new.var for old, new in zip(stage.axes, axes, strict=True)}
    moving = {values[axis.var] for axis in multiples}
    assert stage.body is not None

    def guarded(node: Expr) -> Expr | None:
        if not isinstance(node, Read):
            return None
        inside = [
            logical_and(le(0, index), lt(index, extent))
            for index, extent in zip(node.indices, node.tensor.shape, strict=True)
            if not moving.isdisjoint(free_vars(index))
        ]
        return _or_zero(reduce(logical_and, inside), node) if inside else None

    body = Analyzer().simplify(rewrite(substitute(stage.body, values), guarded))
    tensor = Tensor(f"{stage.name}_whole", tuple(own.extent for own in axes), body.dtype, Compute(axes, body))
    return tensor, Read(body.dtype, tensor, tuple(own.var for own in stage.axes))


def divided(stage: Stage, factors: Mapping[IterVar, int], first: bool) -> tuple[Tensor, Expr]:
    """The tensor in which some axes of a stage are two, a quotient and a remainder, and the stage's new body.

    The remainders stand before all other axes if `first`, else each behind its quotient.  Where a factor does not
    divide, elements beyond the stage's own are not defined; nothing is read for them that is not there.
    """
    for axis, number in factors.items():
        if not any(axis is own for own in stage.axes) or number < 1:
            raise ScheduleError(
                f"divide of {axis.var.name} by {number} on stage {stage.name}: "
                "it needs a data axis and a factor of at least 1"
            )
    values: dict[Var, Expr] = {}
    places: list[tuple[IterVar, Expr]] = []  # the axes in order, with where the old elements lie
    remainders: list[tuple[IterVar, Expr]] = []
    inside: list[Expr] = []
    for axis in stage.axes:
        factor = factors.get(axis)
        if factor is None:
            same = IterVar(Var(INDEX, axis.var.name), axis.extent)
            values[axis.var] = same.var
            places.append((same, axis.var))
            continue
        outer = IterVar(Var(INDEX, f"{axis.var.name}_q"), _ceil_div(axis.extent, factor))
        inner = IterVar(Var(INDEX, f"{axis.var.name}_r"), factor)
        value = values[axis.var] = outer.var * factor + inner.var
        if not _divides(factor, axis.extent):
            inside.append(lt(value, axis.extent))
        places.append((outer, floordiv(axis.var, factor)))
        (remainders if first else places).append((inner, floormod(axis.var, factor)))
    places = [*remainders, *places]
    axes = tuple(axis for axis, _ in places)
    assert stage.body is not None
    body = _limited(substitute(stage.body, values), inside)
    tensor = Tensor(
        f"{stage.name}_divided", tuple(axis.extent for axis in axes), body.dtype, Compute(axes, body)
    )
    return tensor, Read(body.dtype, tensor, tuple(place for _, place in places))


def _limited(body: Expr, inside: Sequence[Expr]) -> Expr:
    """`body` without what it reads outside of `inside`: each read that moves with what is compared is guarded."""
    for condition in inside:
        moving = {var for var in free_vars(condition) if not var.size}

        def guarded(node: Expr, moving: set[Var] = moving, condition: Expr = condition) -> Expr | None:
            if not isinstance(node, Read) or moving.isdisjoint(free_vars(node)):
                return None
            return _or_zero(condition, node)

        body = rewrite(body, guarded)
    return body


def _or_zero(condition: Expr, read: Read) -> Expr:
    return select(condition, read, const(False if read.dtype.is_bool else 0, read.dtype))


def packed(
    stage: Stage, operand: Expr, axes: Sequence[IterVar], panel: int | None = None
) -> tuple[Tensor, Expr]:
    """The tensor that holds `operand` over `axes`, and the stage's new body, which reads it.

    With `panel` the last axis lies in panels, one after the other, the last of which is filled up with 0.
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
        number = IterVar(Var(INDEX, f"{column.name}_o"), _ceil_div(extent, panel))
        within = IterVar(Var(INDEX, f"{column.name}_i"), panel)
        made = (number, *made[:-1], within)
        values[column] = number.var * panel + within.var
        indices = (floordiv(column, panel), *indices[:-1], floormod(column, panel))
    body = substitute(operand, values)
    if panel is not None and not _divides(panel, extent):
        body = _limited(body, [lt(values[column], extent)])
    tensor = Tensor(
        f"{stage.name}_packed",
        tuple(axis.extent for axis in made),
        operand.dtype,
        Compute(made, body),
    )
    read = Read(operand.dtype, tensor, indices)
    return tensor, rewrite(stage.body, lambda node: read if node is operand else None)


def _ceil_div(extent: int | Expr, factor: int) -> int | Expr:
    count = ceil_div(extent, factor)
    return count if isinstance(count, int) else Analyzer().simplify(count)


def _divides(number: int, extent: int | Expr) -> bool:
    left = extent % number if isinstance(extent, int) else Analyzer().simplify(extent % number)
    return left == 0 if isinstance(left, int) else isinstance(left, Const) and left.value == 0


def _all(stage: Stage) -> tuple[IterVar, ...]:
    return (*stage.axes, *stage.reduce_axes)
