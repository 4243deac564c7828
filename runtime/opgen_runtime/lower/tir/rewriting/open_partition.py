"""Loops whose guards depend on symbolic dims.

A loop of symbolic extent is split, so that its guards hold in all but the last iterations:

for o in range((n + 15) // 16): for i in range(16): if o*16 + i < n: f
-->
for o in range(n // 16): for i in range(16): f
if n // 16 < (n + 15) // 16: for i in range(16): if n // 16 * 16 + i < n: f

A serial loop of a tile ends where its guards do:

for i in range(16): if o % t * 16 + i < n: f  -->  for i in range(min(n - o % t * 16, 16)): f
"""

from __future__ import annotations

from collections.abc import Collection

from ....base.arith import (
    Analyzer,
    Compare,
    Expr,
    Var,
    const,
    floordiv,
    free_vars,
    ge,
    le,
    maximum,
    minimum,
    post_order,
    rewrite,
    structural_equal,
)
from ....base.arith import polynomial as poly
from ....base.vocabulary import BOOL, dataclass
from ...schedule import ForKind
from ..nodes.stmt import Allocate, Block, Buffer, For, If, LetStmt, Load, Prefetch, Stmt, Store
from ..nodes.visit import StmtMutator, statements, trips


@dataclass(frozen=True, slots=True)
class Cut:
    """The first `whole` iterations meet the `guards`, which are statements of the loop; `last`: one at most is left."""

    whole: Expr
    guards: tuple[If, ...]
    last: bool


def cut_of(s: For) -> Cut | None:
    """Where to split a loop; None where no guard depends on it, or what it does besides makes guards cost little."""
    analyzer = Analyzer()
    inside = _inside(s)
    guards: list[If] = []
    counts: list[Expr] = []
    for each in statements(s.body):
        count = _count_of(each, s.var, inside, analyzer, some=False) if isinstance(each, If) else None
        if count is not None:
            assert isinstance(each, If)
            guards.append(each)
            counts.append(count)
    if not guards or has_more_work(s.body, guards):
        return None
    whole = counts[0]
    for count in counts[1:]:
        if poly.add(analyzer.poly(whole), analyzer.poly(count), -1):
            whole = minimum(whole, count)
    with analyzer.assume(ge(whole, 1)):  # there are none otherwise
        fits = analyzer.prove(le(whole, s.extent))
    with analyzer.assume(ge(s.extent, 1)):
        last = analyzer.prove(le(s.extent - whole, 1))
    if not fits:
        whole = minimum(whole, s.extent)
    if not analyzer.prove(ge(whole, 0)):
        whole = maximum(whole, 0)
    return Cut(analyzer.simplify(whole), tuple(guards), last)


def ended(s: For) -> For | None:
    """The loop without the iterations in which guards leave nothing to do; None where they leave something."""
    inside = _inside(s)
    analyzer = Analyzer()
    guards: list[If] = []
    count: Expr | None = None
    for each in statements(s.body):
        used = free_vars(each.condition) if isinstance(each, If) else ()
        if not isinstance(each, If) or s.var not in used or not any(var.size for var in used):
            continue
        own = _count_of(each, s.var, inside, analyzer, some=True)
        if own is not None and (count is None or structural_equal(own, count)):
            count = own
            guards.append(each)
    if count is None or not _only_under(s.body, guards, frozenset()):
        return None
    extent = analyzer.simplify(maximum(minimum(count, s.extent), 0))
    alone = [guard for guard in guards if inside.keys().isdisjoint(free_vars(guard.condition))]
    return For(s.var, s.minimum, extent, s.kind, WithoutGuards(alone).stmt(s.body))


def _inside(s: For) -> dict[Var, int | None]:
    """The variables below a loop, with the extents of those of loops that have a constant one."""
    found: dict[Var, int | None] = {}
    for each in statements(s.body):
        if isinstance(each, For):
            found[each.var] = trips(each)
        elif isinstance(each, LetStmt):
            found[each.var] = None
    return found


def _only_under(s: Stmt, guards: Collection[If], own: frozenset[Buffer]) -> bool:
    """Whether a statement does nothing outside of guards but fill buffers of its `own`."""
    match s:
        case If():
            if any(s is guard for guard in guards):
                return True
            sides = (s.then,) if s.otherwise is None else (s.then, s.otherwise)
            return all(_only_under(side, guards, own) for side in sides)
        case Block():
            return all(_only_under(part, guards, own) for part in s.body)
        case Allocate():
            return _only_under(s.body, guards, own | {s.buffer})
        case For() | LetStmt():
            return _only_under(s.body, guards, own)
        case Store():
            return s.buffer in own
        case _:
            return isinstance(s, Prefetch)


def _count_of(s: If, var: Var, inside: dict[Var, int | None], analyzer: Analyzer, some: bool) -> Expr | None:
    """In how many iterations over `var` a guard holds whatever the loops inside do, or in `some` of theirs.

    None for any other branch.
    """
    condition = guard_of(s)
    if condition is None:
        return None
    factors, entangled = analyzer.coefficients(condition.a - condition.b)
    factor = poly.as_constant(factors.get(var, poly.ZERO))
    if factor is None or factor <= 0 or var in entangled or not entangled.isdisjoint(inside):
        return None
    rest = condition.a - condition.b - var * factor
    for moving, coefficient in factors.items():
        if moving is var or moving not in inside:
            continue
        slope, extent = poly.as_constant(coefficient), inside[moving]
        if slope is None or extent is None:
            return None
        last = slope * (extent - 1)
        rest = rest - moving * slope + (min(0, last) if some else max(0, last))
    rest = analyzer.simplify(rest)
    if not set(free_vars(rest)).isdisjoint((var, *inside)):
        return None
    return analyzer.simplify(floordiv(factor - 1 - rest, factor))


def guard_of(s: If) -> Compare | None:
    """The condition of a branch, `a < b` of ints, that has no other side; None for any other."""
    condition = s.condition
    if s.otherwise is not None or not isinstance(condition, Compare) or condition.op != "lt":
        return None
    return condition if condition.a.dtype.is_int else None


def has_more_work(body: Stmt, guards: Collection[If]) -> bool:
    """Whether some inner loop has no guard inside: what it does hides what guards cost beside it."""
    own = set(map(id, guards))
    return any(
        isinstance(each, For)
        and each.kind is ForKind.SERIAL
        and not any(id(inner) in own for inner in statements(each.body))
        for each in statements(body)
    )


class WithoutGuards(StmtMutator):
    """A statement in which some guards are known to hold."""

    def __init__(self, guards: Collection[If]) -> None:
        self.known = set(map(id, guards))

    def branch(self, s: If) -> Stmt:
        return self.stmt(s.then) if id(s) in self.known else super().branch(s)


class Decided(StmtMutator):
    """A statement without the comparisons of which its loops say whether they hold."""

    def __init__(self) -> None:
        self.analyzer = Analyzer()

    def loop(self, s: For) -> Stmt:
        with self.analyzer.scope():
            self.analyzer.bind(s.var, s.minimum, s.extent)
            return super().loop(s)

    def expr(self, e: Expr) -> Expr:
        return rewrite(e, self._decided)

    def _decided(self, e: Expr) -> Expr | None:
        if not isinstance(e, Compare) or e.op != "lt" or not e.a.dtype.is_int:
            return None
        if any(isinstance(node, Load) for node in post_order(e)):
            return None
        known = self.analyzer.holds(e)
        return None if known is None else const(known, BOOL)


class Ended(StmtMutator):
    """A statement whose serial loops of constant extents end where their guards leave nothing to do."""

    def loop(self, s: For) -> Stmt:
        short = ended(s) if s.kind is ForKind.SERIAL and trips(s) is not None else None
        return super().loop(s if short is None else short)
