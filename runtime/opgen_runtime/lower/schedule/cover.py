"""An operand of a stage once for each position of what it reads.

C[i] = sum(f(i * b + k - 1) * g(k) for k)  -->  P[p] = f(p - 1); C[i] = sum(P[i * b + k] * g(k) for k)

An index that does not move evenly itself, such as a remainder, may depend on the loops by a part that does.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base.arith import Analyzer, Expr, Var, const, free_vars, post_order, rewrite, substitute
from ...base.errors import ScheduleError
from ...base.vocabulary import INDEX
from ...compute.te.tensor import Compute, IterVar, Read, Tensor
from .slopes import slope
from .stage import Stage


def covered(stage: Stage, operand: Expr) -> tuple[Tensor, Expr]:
    """The tensor that holds `operand` once for each position, and the stage's new body, which reads it."""
    assert stage.body is not None
    if not any(node is operand for node in post_order(stage.body)):
        raise ScheduleError(f"cover on stage {stage.name}: its body does not have the operand")
    found = positions((*stage.axes, *stage.reduce_axes), operand)
    if isinstance(found, str):
        raise ScheduleError(f"cover on stage {stage.name}: {found}")
    axes, body, indices = found
    made = Tensor(
        f"{stage.name}_covered", tuple(axis.extent for axis in axes), operand.dtype, Compute(axes, body)
    )
    read = Read(operand.dtype, made, indices)
    return made, rewrite(stage.body, lambda node: read if node is operand else None)


def positions(
    axes: Sequence[IterVar], operand: Expr
) -> tuple[tuple[IterVar, ...], Expr, tuple[Expr, ...]] | str:
    """Axes of the positions that `operand` reads over `axes`, itself over these, and where they are; or why not.

    The positions along one dim are those between the first and the last.
    """
    extents = {axis.var: axis.extent for axis in axes}
    analyzer = Analyzer()
    for axis in axes:
        analyzer.bind(axis.var, 0, axis.extent)
    operand = analyzer.simplify(operand)
    reads = [node for node in post_order(operand) if isinstance(node, Read)]
    if len(reads) != 1:
        return f"it needs one read of one tensor, found {len(reads)}"
    made: list[IterVar] = []
    places: list[Expr] = []
    values: dict[Var, Expr] = {}
    for index in reads[0].indices:
        moving = [var for var in free_vars(index) if var in extents]
        if not moving:
            continue
        position = _position(_even_part(index, moving), moving, extents)
        if isinstance(position, str):
            return position
        if not values.keys().isdisjoint(moving):
            return "a loop moves along two dims"
        axis, place, solved, value = position
        made.append(axis)
        places.append(place)
        values |= {var: var for var in moving}
        values[solved] = value
        analyzer.bind(axis.var, 0, axis.extent)
    changed = {var: value for var, value in values.items() if value is not var}
    body = analyzer.simplify(substitute(operand, changed))
    known = {axis.var for axis in made}
    left = [var.name for var in free_vars(body) if not var.size and var not in known]
    if left:
        return f"it depends on {', '.join(left)} otherwise than by the position"
    return tuple(made), body, tuple(places)


def _even_part(index: Expr, moving: Sequence[Var]) -> Expr:
    """The largest part of an index that moves evenly with all of the loops; the index itself where there is none."""
    parts = [node for node in reversed(post_order(index)) if node.dtype is INDEX and node.children()]
    for part in parts:
        inside = free_vars(part)
        if all(var in inside and slope(part, var) is not None for var in moving):
            return part
    return index


def _position(
    index: Expr, moving: Sequence[Var], extents: dict[Var, int | Expr]
) -> tuple[IterVar, Expr, Var, Expr] | str:
    """The axis of the positions of an index, which of them the loops are at, and one loop in terms of the others."""
    steps: dict[Var, int] = {}
    lowest = highest = 0
    for var in moving:
        step, extent = slope(index, var), extents[var]
        if step is None or not isinstance(extent, int):
            return f"the position {index} does not move evenly with {var.name}"
        steps[var] = step
        lowest += min(0, step * (extent - 1))
        highest += max(0, step * (extent - 1))
    if len(moving) == 1:
        (var,) = moving
        alone = IterVar(Var(INDEX, var.name), extents[var])
        return alone, var, var, alone.var
    unit = next((var for var in moving if abs(steps[var]) == 1), None)
    if unit is None:
        return f"the position {index} moves with no loop by one"
    axis = IterVar(Var(INDEX, "_".join(var.name for var in moving)), highest - lowest + 1)
    place: Expr = const(-lowest, INDEX)
    rest: Expr = axis.var + lowest
    for var, step in steps.items():
        place = place + var * step
        if var is not unit:
            rest = rest - var * step
    return axis, Analyzer().simplify(place), unit, rest * steps[unit]
