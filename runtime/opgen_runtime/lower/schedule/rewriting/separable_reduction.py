"""Separable reductions over windows, one axis after the other.

    C[y, x] = max(f(y + r, x * b + s) for r, s)
-->
    V[y, u] = max(f(y + r, u) for r); C[y, x] = max(V[y, x * b + s] for s)
"""

from __future__ import annotations

from typing import Final

from ....base.arith import Analyzer, Expr, Var, const, free_vars, post_order, structural_equal, substitute
from ....base.errors import ScheduleError
from ....base.vocabulary import INDEX
from ....compute.te.tensor import Compute, IterVar, Read, Reduce, Tensor
from ..stages.slopes import slope
from ..stages.stage import Stage

_ASSOCIATIVE: Final = ("sum", "max", "min")


def why_not_separable(stage: Stage, data: IterVar, window: IterVar) -> str | None:
    """Why a stage cannot be reduced over `window`, which slides along `data`, after its other axes; None if it can."""
    body = stage.body
    if not isinstance(body, Reduce) or body.combiner not in _ASSOCIATIVE or body.dtype.is_storage:
        return "it is no sum, maximum or minimum whose parts have the results' precision"
    if body.combiner == "sum" and body.dtype.is_float and body.dtype.bits < 32:
        return "its parts would be rounded"
    if len(body.axes) < 2 or not all(isinstance(axis.extent, int) for axis in body.axes):
        return "it needs another reduce axis, and windows of constant extents"
    factor = _factor(body, data.var)
    if factor is None:
        return f"nothing that it reads moves with {data.var.name} by a constant step"
    position = data.var * factor + window.var
    analyzer = Analyzer()
    for part in (body.value, body.condition):
        if part is None:
            continue
        moved = substitute(part, {data.var: const(0, INDEX), window.var: position})
        if not structural_equal(analyzer.simplify(part), analyzer.simplify(moved)):
            return f"{window.var.name} does not slide along {data.var.name} alone"
    return None


def _factor(body: Reduce, data: Var) -> int | None:
    """By how much the positions that are read move with a data axis: one number, which is not 0."""
    steps = {
        slope(index, data)
        for read in post_order(body.value)
        if isinstance(read, Read)
        for index in read.indices
        if data in free_vars(index)
    }
    found = next(iter(steps)) if len(steps) == 1 else None
    return found if found is not None and found > 0 else None


def separated_reduction(stage: Stage, data: IterVar, window: IterVar) -> tuple[Tensor, Expr]:
    """The tensor that is reduced over all axes but `window`, and the stage's new body, which reads it."""
    why = why_not_separable(stage, data, window)
    if why is not None:
        raise ScheduleError(f"separate_reduction of {window.var.name} on stage {stage.name}: {why}")
    body = stage.body
    assert isinstance(body, Reduce)
    factor = _factor(body, data.var)
    assert factor is not None
    read_extent = (data.extent - 1) * factor + window.extent
    line = read_extent if isinstance(read_extent, int) else Analyzer().simplify(read_extent)
    axes = tuple(
        IterVar(
            Var(INDEX, axis.var.name),
            line if axis is data else axis.extent,
        )
        for axis in stage.axes
    )
    values: dict[Var, Expr] = {old.var: new.var for old, new in zip(stage.axes, axes, strict=True)}
    place = values.pop(data.var)
    values[data.var], values[window.var] = const(0, INDEX), place
    rest = tuple(axis for axis in body.axes if axis is not window)
    condition = None if body.condition is None else substitute(body.condition, values)
    part = Reduce(body.dtype, body.combiner, rest, substitute(body.value, values), condition)
    made = Tensor(f"{stage.name}_lines", tuple(axis.extent for axis in axes), body.dtype, Compute(axes, part))
    position = data.var * factor + window.var
    read = Read(body.dtype, made, tuple(position if axis is data else axis.var for axis in stage.axes))
    return made, Reduce(body.dtype, body.combiner, (window,), read)
