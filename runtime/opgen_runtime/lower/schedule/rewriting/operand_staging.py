"""Operand staging: a copy of an operand, once for each position of what it reads.

C[i] = sum(f(i * b + k - 1) * g(k) for k)  -->  P[p] = f(p - 1); C[i] = sum(P[i * b + k] * g(k) for k)

An index that does not move evenly itself, such as a remainder, may depend on the loops by a part that does.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....base.arith import (
    Analyzer,
    Binary,
    Dim,
    Expr,
    Var,
    const,
    free_vars,
    post_order,
    rewrite,
    structural_equal,
    substitute,
)
from ....base.errors import ScheduleError
from ....base.vocabulary import INDEX
from ....compute.te.tensor import Compute, IterVar, Read, Tensor
from ..stages.slopes import slope
from ..stages.stage import Stage


def staged_operand(stage: Stage, operand: Expr) -> tuple[Tensor, Expr]:
    """The tensor that holds `operand` once for each position, and the stage's new body, which reads it."""
    assert stage.body is not None
    if not any(node is operand for node in post_order(stage.body)):
        raise ScheduleError(f"stage_operand on stage {stage.name}: its body does not have the operand")
    found = positions((*stage.axes, *stage.reduce_axes), operand)
    if isinstance(found, str):
        raise ScheduleError(f"stage_operand on stage {stage.name}: {found}")
    axes, body, indices = found
    made = Tensor(
        f"{stage.name}_staged", tuple(axis.extent for axis in axes), operand.dtype, Compute(axes, body)
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
    operand, clamped = _unclamped(analyzer.simplify(operand), extents)
    for var in clamped:
        analyzer.bind(var, 0, extents[var])
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
    return tuple(made), body, tuple([substitute(place, clamped) for place in places])


def _unclamped(operand: Expr, extents: dict[Var, Dim]) -> tuple[Expr, dict[Var, Expr]]:
    """The operand with a loop of its own for each that it reads no further than to a bound: `min(i, n - 1)` as i' < n.

    Gives what these loops stand for, too, and adds their extents.
    """
    users: dict[Var, dict[int, Expr]] = {}
    for node in post_order(operand):
        for child in node.children():
            if isinstance(child, Var) and child in extents:
                users.setdefault(child, {})[id(node)] = node
    clamped: dict[Var, Expr] = {}
    known: dict[int, Expr] = {}
    for var, nodes in users.items():
        bounds = [_bound_of(node, var) for node in nodes.values()]
        first = bounds[0]
        if first is None or any(each is None or not structural_equal(each, first) for each in bounds):
            continue
        loop = Var(INDEX, var.name)
        extents[loop] = Analyzer().simplify(first + 1)
        clamped[loop] = next(iter(nodes.values()))
        known |= dict.fromkeys(nodes, loop)
    return rewrite(operand, lambda node: known.get(id(node))), clamped


def _bound_of(node: Expr, var: Var) -> Expr | None:
    """The bound at which a node ends a loop; None where it does something else, or the bound is no size."""
    if not isinstance(node, Binary) or node.op != "min":
        return None
    bound = node.b if node.a is var else node.a
    return bound if all(each.size for each in free_vars(bound)) else None


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
    lowest: Dim = 0
    highest: Dim = 0
    for var in moving:
        step = slope(index, var)
        if step is None:
            return f"the position {index} does not move evenly with {var.name}"
        steps[var] = step
        if step < 0:
            lowest = lowest + (extents[var] - 1) * step
        else:
            highest = highest + (extents[var] - 1) * step
    if len(moving) == 1:
        (var,) = moving
        alone = IterVar(Var(INDEX, var.name), extents[var])
        return alone, var, var, alone.var
    unit = next((var for var in moving if abs(steps[var]) == 1), None)
    if unit is None:
        return f"the position {index} moves with no loop by one"
    analyzer = Analyzer()
    count = highest - lowest + 1
    extent = count if isinstance(count, int) else analyzer.simplify(count)
    axis = IterVar(Var(INDEX, "_".join(var.name for var in moving)), extent)
    place: Expr = const(0, INDEX) - lowest
    rest: Expr = axis.var + lowest
    for var, step in steps.items():
        place = place + var * step
        if var is not unit:
            rest = rest - var * step
    return axis, analyzer.simplify(place), unit, rest * steps[unit]
