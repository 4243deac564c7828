"""The least that dims of a segment are whenever its kernel runs.

conv2d_transpose([n, 24, h, w], [24, 24, 3, 3], strides=2, padding=1)     requires h * 2 - 1 >= 0: h is at least 1

Extents of operands are at least 0, and a kernel runs where all that its ops require holds.  What follows of single dims
stands with them (`Var.least`), so that every analyzer knows it that meets them.
"""

from __future__ import annotations

from dataclasses import replace

from ....base.arith import Analyzer, Var, free_vars, ge
from ....base.arith.expr import Expr
from ....ir import Function
from .dims import dims_in, sizes_of
from .multiversioning import specialised
from .shape_preconditions import shape_preconditions


def with_least_dims(function: Function) -> Function:
    """A segment over dims that say the least they are; the same where nothing follows of them.

    What it requires of its dims may be certain of these, so that the segment as it was says what is to be checked.
    """
    least = {dim: bound for dim, bound in _least(function).items() if bound > dim.least}
    if not least:
        return function
    made = specialised(function, {dim: replace(dim, least=bound) for dim, bound in least.items()})
    return made if len(dims_in(made)) == len(dims_in(function)) else function


def _least(function: Function) -> dict[Var, int]:
    """The least of each dim that is a whole dim of an operand."""
    sizes = list(sizes_of(function.params))
    bound = dict.fromkeys([dim for dim in sizes if isinstance(dim, Var)])
    if not bound:
        return {}
    held: list[Expr] = [ge(size, 0) for size in sizes if not isinstance(size, Var)]
    held += [each.condition for each in shape_preconditions(function)]
    known = Analyzer()
    for condition in held:
        if bound.keys() >= set(free_vars(condition)):
            known.learn(condition, True)
    return {dim: known.interval(dim).lo or 0 for dim in bound} if held else {}
