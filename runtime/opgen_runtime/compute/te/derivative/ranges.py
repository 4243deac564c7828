"""Sums cut to where they have something to add: conditions on one loop alone become its ends.

    sum(g[2*q - 2] * (x[q - 1] if 0 <= q - 1 else 0) for q in range(5) if q < 4)
-->
    sum(g[2*q] * x[q] for q in range(3))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ....base.arith import Binary, Compare, Const, Expr, Select, Var, add, rewrite, substitute
from ....base.vocabulary import BOOL, INDEX
from ..access import analysis
from ..tensor import IterVar
from .inverse import both, conjuncts
from .linear import Divisions

Sum = tuple[tuple[IterVar, ...], Expr | None, Expr]
"""The loops of a sum, the condition under which an element counts, and the element."""


def cut(found: Sum, positions: Mapping[Var, int]) -> Sum:
    """The sum with simpler indices, which tell schedules what is read in lines, and without steps that add nothing."""
    loops, condition, value = _simplified(found, positions)
    names: dict[Var, Expr] = {}
    made: list[IterVar] = []
    for axis in loops:
        low, high = _ends(axis, [*_conditions(condition), *_guards(value)])
        if low == 0 and high == axis.extent:
            made.append(axis)
        else:
            made.append(IterVar(Var(INDEX, axis.var.name), max(high - low, 0), axis.kind))
            names[axis.var] = add(made[-1].var, low)
    if not names:
        return loops, condition, value
    moved = None if condition is None else substitute(condition, names)
    return _simplified((tuple(made), moved, substitute(value, names)), positions)


def simplified(value: Expr, extents: Mapping[Var, int | Expr]) -> Expr:
    """The value with simpler indices, and without choices that the ranges of its variables decide."""
    with analysis(extents, ()) as analyzer:

        def visit(node: Expr) -> Expr | None:
            if isinstance(node, Select) and isinstance(node.condition, Const):
                return node.then if node.condition.value else node.otherwise
            decides = isinstance(node, Binary) and node.dtype is BOOL
            decides |= isinstance(node, Compare) and node.a.dtype is INDEX
            return analyzer.simplify(node) if node.children() and (node.dtype is INDEX or decides) else None

        return rewrite(value, visit)


def _simplified(found: Sum, positions: Mapping[Var, int]) -> Sum:
    loops, condition, value = found
    extents = {**positions, **{axis.var: axis.extent for axis in loops}}
    parts = [simplified(each, extents) for each in _conditions(condition)]
    kept = [each for each in parts if not (isinstance(each, Const) and each.value)]
    return loops, both(*kept), simplified(value, extents)


def _conditions(condition: Expr | None) -> Iterator[Expr]:
    return iter(()) if condition is None else conjuncts(condition)


def _guards(value: Expr) -> Iterator[Expr]:
    """Where a factor of the value is not a zero that was put there."""
    if isinstance(value, Binary) and value.op == "mul":
        yield from _guards(value.a)
        yield from _guards(value.b)
    elif isinstance(value, Select) and isinstance(value.otherwise, Const) and not value.otherwise.value:
        yield from conjuncts(value.condition)


def _ends(axis: IterVar, conditions: Sequence[Expr]) -> tuple[int, int]:
    """The first step that can count, and the one after the last."""
    assert isinstance(axis.extent, int)
    low, high = 0, axis.extent
    for each in conditions:
        if not isinstance(each, Compare) or each.op not in _BOUNDS or each.a.dtype is not INDEX:
            continue
        divisions = Divisions({axis.var: axis.extent})
        a, b = divisions.linear(each.a), divisions.linear(each.b)
        if a is None or b is None or divisions.found or divisions.fixed:
            continue
        sign, beside = _BOUNDS[each.op]
        rest = a.plus(b, -1) if sign > 0 else b.plus(a, -1)  # at least `beside`
        factor = rest.factors.get(axis.var, 0)
        if factor == 1:
            low = max(low, beside - rest.offset)
        elif factor == -1:
            high = min(high, rest.offset - beside + 1)
    return min(low, axis.extent), max(high, 0)


_BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "ge": (1, 0),
    "gt": (1, 1),
    "le": (-1, 0),
    "lt": (-1, 1),
}  # the side that is greater, and by how much at least
