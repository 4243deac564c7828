"""The domain of a stage: the ranges of its loops, and its axes in terms of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ....base.arith import (
    Analyzer,
    Binary,
    Const,
    Expr,
    Var,
    const,
    lt,
    minimum,
    post_order,
    rewrite,
    substitute,
)
from ....base.vocabulary import INDEX
from ....compute.te.tensor import IterVar, Read
from .relations import Fuse, Relation, Split

Extent = int | Expr


@dataclass(eq=False, slots=True)
class Domain:
    """The ranges of a stage.

    `minimums` and `extents_of` give the part of the tensor that is computed (per data axis); `extents` the trips
    of every loop; `values` each axis' var in terms of loop vars; the guards what must hold for a loop's
    iteration to count (splits that do not divide, regions that stand over an edge).  `ragged` are the vars of axes
    whose splits do not divide, with their values and extents; in `whole` they stand for themselves.
    """

    minimums: list[Expr] = field(default_factory=list)
    shape: list[Extent] = field(default_factory=list)
    extents: dict[IterVar, Extent] = field(default_factory=dict)
    values: dict[Var, Expr] = field(default_factory=dict)
    data_guards: list[Expr] = field(default_factory=list)
    reduce_guards: list[Expr] = field(default_factory=list)
    whole: dict[Var, Expr] = field(default_factory=dict)
    ragged: dict[Var, tuple[Expr, int]] = field(default_factory=dict)

    def simplified(self, e: Expr) -> Expr:
        """`e` with what it reads in terms of loops, where guards decide quotients and remainders.

        With o = q*99 + r, r = t*8 + u and the guard r < 99, o // 99 is q and o % 99 is r.
        """
        analyzer = Analyzer()

        def at(index: Expr) -> Expr:
            if not is_taken_apart(index):
                return index
            return substitute(analyzer.simplify(substitute(index, self.whole)), self.values)

        def simplified(node: Expr) -> Expr | None:
            return node.rebuild([at(index) for index in node.indices]) if isinstance(node, Read) else None

        starts_at_zero = all(isinstance(first, Const) and not first.value for first in self.minimums)
        if not self.ragged or not starts_at_zero:
            return e
        for var, (_, extent) in self.ragged.items():
            analyzer.bind(var, 0, extent)
        for axis, trips in self.extents.items():
            if axis.var not in self.ragged:
                analyzer.bind(axis.var, 0, trips)
        return rewrite(e, simplified)


class Looped(Protocol):
    """What domains ask of a stage."""

    axes: tuple[IterVar, ...]
    reduce_axes: tuple[IterVar, ...]
    relations: list[Relation]
    leaves: list[IterVar]

    @property
    def loop_axes(self) -> Sequence[IterVar]: ...


def whole(stage: Looped) -> Domain:
    """The domain of a stage that is computed whole."""
    domain = Domain([const(0, INDEX) for _ in stage.axes], [axis.extent for axis in stage.axes])
    spread(stage, domain)
    return domain


def spread(stage: Looped, domain: Domain) -> None:
    """From the part of the tensor that is computed: the loops' extents, the axes' values and the guards."""
    for axis, extent in zip(stage.axes, domain.shape, strict=True):
        domain.extents[axis] = extent
    for axis in stage.reduce_axes:
        domain.extents[axis] = axis.extent
    _pass_down(stage, domain)
    _pass_up(stage, domain)


def _pass_down(stage: Looped, domain: Domain) -> None:
    """Extents of the loops from those of the axes."""
    extents = domain.extents
    analyzer = Analyzer()
    for relation in stage.relations:
        if isinstance(relation, Fuse):
            extents[relation.fused] = extents[relation.outer] * extents[relation.inner]
            continue
        whole, factor = extents[relation.parent], relation.factor
        if isinstance(whole, int):
            extents[relation.inner] = min(factor, whole) if whole else factor
            extents[relation.outer] = -(-whole // factor)
        else:
            extents[relation.inner] = factor
            extents[relation.outer] = analyzer.simplify((whole + (factor - 1)) // factor)


def _pass_up(stage: Looped, domain: Domain) -> None:
    """Axes in terms of loops, and the guards of splits that do not divide."""
    extents, values = domain.extents, domain.values
    zero = const(0, INDEX)
    for leaf in stage.leaves:
        values[leaf.var] = zero if extents[leaf] == 1 else leaf.var
    values.update({axis.var: zero for axis in stage.axes if axis not in stage.loop_axes})  # one row a step
    implied = {
        split.outer
        for split in stage.relations
        if isinstance(split, Split)
        and not isinstance(extents[split.parent], int)
        and not divides(split.factor, extents[split.parent])
    }
    for relation in reversed(stage.relations):
        if isinstance(relation, Split):
            _join(relation, domain, relation.parent in implied)
            continue
        fused, inner = values[relation.fused.var], extents[relation.inner]
        if inner == 1:
            values[relation.outer.var], values[relation.inner.var] = fused, zero
        elif extents[relation.outer] == 1:
            values[relation.outer.var], values[relation.inner.var] = zero, fused
        else:
            values[relation.outer.var], values[relation.inner.var] = fused // inner, fused % inner
    domain.whole = dict(values)
    for var, value in values.items():
        values[var] = _resolved(value, domain)
    for axis, first in zip(stage.axes, domain.minimums, strict=True):
        values[axis.var] = values[axis.var] + first
        domain.whole[axis.var] = domain.whole[axis.var] + first


def _resolved(e: Expr, domain: Domain) -> Expr:
    """`e` without the vars of ragged splits, each of which is a sum of those found before it."""
    for var in reversed(domain.ragged):
        e = substitute(e, {var: domain.ragged[var][0]})
    return e


def _join(split: Split, domain: Domain, is_implied: bool) -> None:
    """`is_implied`: the axis is the quotient of another, of a symbolic extent, whose guard is enough."""
    whole, var = domain.extents[split.parent], split.parent.var
    start = domain.values[split.outer.var] * split.factor
    if isinstance(whole, int) and split.has_overlap(whole):
        domain.values[var] = minimum(start, whole - split.factor) + domain.values[split.inner.var]
        return
    value = start + domain.values[split.inner.var]
    domain.values[var] = value
    if is_implied or divides(split.factor, whole) or (isinstance(whole, int) and whole < split.factor):
        return
    guards = domain.reduce_guards if split.parent.kind == "reduce" else domain.data_guards
    guards.append(lt(_resolved(value, domain), whole))
    if isinstance(whole, int):
        domain.ragged[var] = value, whole
        domain.values[var] = var


def divides(factor: int, whole: Extent) -> bool:
    """Whether a whole is certainly a multiple of the factor."""
    if isinstance(whole, int):
        return whole % factor == 0
    left = Analyzer().simplify(whole % factor)
    return isinstance(left, Const) and left.value == 0


def is_taken_apart(index: Expr) -> bool:
    """Whether an index has quotients or remainders."""
    return any(isinstance(node, Binary) and node.op in ("floordiv", "floormod") for node in post_order(index))
