"""Residue conditions, which hold in every s-th step of a reduction: the steps in which they do, by number.

    sum(f(k) for k in range(K) if (a + m*k) % s == 0)
-->
    sum(f(first + k*step) for k in range(ceil(K / step)) if first + k*step < K and a % g == 0)

with g = gcd(m, s), step = s / g and first = -a/g * (m/g)^-1 mod step (the linear congruence theorem).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import gcd

from ....base.arith import (
    Analyzer,
    Binary,
    Compare,
    Const,
    Expr,
    Var,
    const,
    eq,
    floordiv,
    floormod,
    free_vars,
    logical_and,
    logical_not,
    lt,
    mul,
    select,
    substitute,
)
from ....base.arith.conditions import conjuncts
from ....base.errors import ScheduleError
from ....base.vocabulary import BOOL, INDEX, dataclass
from ....compute.te.tensor import IterVar, Reduce, tensors_read
from ..stages.slopes import slope
from ..stages.stage import Stage
from .simplifying import simplified_over

_POSITIONAL = ("argmax", "argmin", "first")  # their results depend on the number of a step


@dataclass(frozen=True, eq=False, slots=True)
class ResidueCondition:
    """`condition` of a reduction: rest + factor * axis is a multiple of `modulus`."""

    condition: Expr
    axis: IterVar
    factor: int
    rest: Expr
    modulus: int

    @property
    def step(self) -> int:
        """How far apart the steps are in which it holds."""
        return self.modulus // gcd(self.factor, self.modulus)


def residue_conditions(body: Reduce) -> Iterator[ResidueCondition]:
    """The conditions of a reduction that can be solved for one of its axes."""
    if body.combiner in _POSITIONAL or not all(isinstance(axis.extent, int) for axis in body.axes):
        return
    for condition in conditions_of(body):
        found = _residue_condition(condition, body)
        if found is not None:
            yield found


def conditions_of(body: Reduce) -> list[Expr]:
    """What must all hold for an element to count."""
    if body.condition is None:
        return []
    found = conjuncts(body.condition, True)
    return [part if holds else logical_not(part) for part, holds in reversed(found)]


def _residue_condition(condition: Expr, body: Reduce) -> ResidueCondition | None:
    if not isinstance(condition, Compare) or condition.op != "eq" or not isinstance(condition.b, Const):
        return None
    remainder = condition.a
    if not isinstance(remainder, Binary) or remainder.op != "floormod" or not isinstance(remainder.b, Const):
        return None
    value, modulus = remainder.a - int(condition.b.value), int(remainder.b.value)
    used = set(free_vars(value))
    for axis in body.axes:
        factor = slope(value, axis.var) if axis.var in used and modulus > 1 else None
        if factor is not None and factor % modulus:
            return ResidueCondition(
                condition, axis, factor, substitute(value, {axis.var: const(0, INDEX)}), modulus
            )
    return None


def solved(stage: Stage) -> Reduce:
    """The stage's body with the first of its residue conditions solved."""
    body = stage.body
    found = next(residue_conditions(body), None) if isinstance(body, Reduce) else None
    if found is None or not isinstance(body, Reduce):
        raise ScheduleError(f"solve on stage {stage.name}: no condition of its body is a residue condition")
    common, step = gcd(found.factor, found.modulus), found.step
    extent = found.axis.extent
    assert isinstance(extent, int)
    steps = IterVar(Var(INDEX, found.axis.var.name), -(-extent // step), found.axis.kind)
    first = floormod(
        floordiv(found.rest, common) * _least(-pow(found.factor // common, -1, step), step), step
    )
    value = _straight(first, stage.axes) + steps.var * step
    axes = tuple(steps if each is found.axis else each for each in body.axes)
    solves = eq(floormod(found.rest, common), 0)
    parts = [solves if part is found.condition else part for part in conditions_of(body)]
    condition = _in_turn([lt(value, extent), *[substitute(part, {found.axis.var: value}) for part in parts]])
    made = substitute(body.value, {found.axis.var: value})
    return simplified(stage.axes, Reduce(body.dtype, body.combiner, axes, made, condition))


def simplified(axes: Sequence[IterVar], body: Reduce) -> Reduce:
    """A reduction over data `axes` with what follows from the extents of all axes."""
    *conditions, value = simplified_over((*axes, *body.axes), *conditions_of(body), body.value)
    return Reduce(body.dtype, body.combiner, body.axes, value, _in_turn(conditions), body.default)


def _in_turn(parts: Sequence[Expr]) -> Expr | None:
    """Conditions that must all hold, None for none: one that reads is asked only where those before it hold."""
    kept: Expr | None = None
    for part in parts:
        if isinstance(part, Const) and part.value:
            continue
        if kept is None:
            kept = part
        elif tensors_read(part):
            kept = select(kept, part, const(False, BOOL))
        else:
            kept = logical_and(kept, part)
    return kept


def _least(number: int, modulus: int) -> int:
    """What leaves the same remainder and is nearest 0, so that remainders of what is below the modulus are seen."""
    remainder = number % modulus
    return remainder if 2 * remainder <= modulus else remainder - modulus


def _straight(e: Expr, axes: Sequence[IterVar]) -> Expr:
    """a + b * y, where an expression of one axis y of few positions has such values: (y + 1) % 2 is 1 - y of two."""
    (e,) = simplified_over(axes, e)
    used = list(free_vars(e))
    extent = next((axis.extent for axis in axes if used == [axis.var]), None)
    if not isinstance(extent, int) or not 1 < extent <= 8:
        return e  # of more, the positions are not looked at one by one
    (var,) = used
    values = [Analyzer().simplify(substitute(e, {var: const(n, INDEX)})) for n in range(extent)]
    first, second = values[:2]
    if not isinstance(first, Const) or not isinstance(second, Const):
        return e
    base, step = int(first.value), int(second.value) - int(first.value)
    on_line = all(isinstance(v, Const) and v.value == base + n * step for n, v in enumerate(values))
    return var * step + base if on_line else e


def pushed(body: Reduce, axes: Collection[IterVar] | None = None) -> Reduce:
    """A sum of products whose conditions stand in both factors: where they do not hold, 0 is added.

    Those that move with none of `axes` stand where they were, too: where they do not hold, nothing is added.
    """
    value = body.value
    if body.combiner != "sum" or body.condition is None or not isinstance(value, Binary) or value.op != "mul":
        raise ScheduleError("conditions are pushed into the factors of a sum of products; this is none")
    zero = const(0, value.dtype)
    a, b = (select(body.condition, factor, zero) for factor in (value.a, value.b))
    kept: list[Expr] = []
    if axes is not None:
        moving, left_out = {axis.var for axis in axes}, False
        for part in conditions_of(body):
            if not moving.isdisjoint(free_vars(part)):
                left_out = True
            elif not (left_out and tensors_read(part)):  # which may be read only where what is left out holds
                kept.append(part)
    return Reduce(body.dtype, body.combiner, body.axes, mul(a, b), _in_turn(kept))
