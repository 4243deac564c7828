"""Residue decomposition: reductions of which a step counts where a sum of axes is a multiple of s make as many as
count.

    C[y] = sum(X[(y - r) // s] * W[r] for r if (y - r) % s == 0)
-->
    P[u, q] = sum(X[q - r] * W[u + r * s] for r); C[y] = P[y % s, y // s]

The remainders of the data axes in a residue condition become axes of their own, outside all others, and the
residue condition is solved for a reduce axis: transposed convolutions, gradients of strided ones, what spreads and
sums.
"""

from __future__ import annotations

from math import gcd, lcm
from typing import TypeAlias

from .....base import Target
from .....base.arith import free_vars
from .....compute.te.tensor import IterVar, Reduce
from ....schedule import Schedule, Stage, residue_conditions, slope
from ..common.rule import WhyNot

Factors: TypeAlias = dict[IterVar, int]


def match_residues(schedule: Schedule, stage: Stage, target: Target) -> tuple[Stage, Factors] | WhyNot:
    """A reduction with congruences that can be solved for a reduce axis; with what divides its data axes."""
    if not stage.reduce_axes or stage.follows is not None or not isinstance(stage.body, Reduce):
        return WhyNot("has no reduce axes of its own")
    factors = _factors(stage)
    if factors is None:
        return WhyNot("counts in every step, or in steps of which no axis tells which")
    return stage, factors


def decompose_residues(
    schedule: Schedule, matched: tuple[Stage, Factors], target: Target
) -> tuple[Stage, ...]:
    """Divide and solve a reduction that has residue conditions; those that read its results fold the quotients in."""
    stage, factors = matched
    tensor = stage.tensor
    if factors:
        tensor = schedule.divide(tensor, factors, first=True)
        if not stage.is_output:
            stage.compute_inline()
    made = schedule[tensor]
    while isinstance(made.body, Reduce) and next(residue_conditions(made.body), None) is not None:
        schedule.solve(tensor)
    if factors:
        schedule.normalize()
    return ()


def _factors(stage: Stage) -> Factors | None:
    """By how much each data axis is divided; None where no condition can be solved."""
    assert isinstance(stage.body, Reduce)
    found = list(residue_conditions(stage.body))
    factors: dict[IterVar, int] = {}
    for each in found:
        used = set(free_vars(each.rest))
        for axis in stage.axes:
            if axis.var not in used or axis.extent == 1:
                continue
            grown = slope(each.rest, axis.var)
            if grown is None:
                return None
            factor = each.modulus // gcd(grown, each.modulus)
            if factor > 1:
                factors[axis] = lcm(factor, factors.get(axis, 1))
    return factors if found else None
