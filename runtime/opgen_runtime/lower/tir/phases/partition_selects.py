"""Loops whose iterations choose between values by how far they have come are split where the choice changes.

for o in range(4): vectorized for i in range(16): y[o*16 + i] = a[o*16 + i] if o*16 + i < 40 else b[o*16 + i - 40]
-->
for o in range(2): vectorized for i in range(16): y[o*16 + i] = a[o*16 + i]
vectorized for i in range(16): y[i + 32] = a[i + 32] if i + 32 < 40 else b[i - 8]
vectorized for i in range(16): y[i + 48] = b[i + 8]

A choice that no loop below decides is made once outside of them, as that of the rows of images that are joined.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ....base.arith import (
    Analyzer,
    Binary,
    Compare,
    Const,
    Expr,
    Not,
    Select,
    Var,
    floordiv,
    free_vars,
    identical,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    post_order,
)
from ....base.arith.literals import BOOLS
from ....base.arith.relax import Relaxer, linear
from ....base.vocabulary import INDEX, dataclass
from ...schedule import ForKind
from ..nodes.folding import fold_substitute
from ..nodes.nest import ZERO
from ..nodes.stmt import For, If, LetStmt, Load, PrimFunc, Stmt, Store
from ..nodes.visit import EMPTY, StmtMutator, block, map_exprs, trips

_MAX_LIMITS: Final = 32  # of one loop
_FEW_LIMITS: Final = 4  # where several choices are made beside each other
_SHORT: Final = 32  # elements
_KNOWN: Final = 2  # of so many iterations all but one know their choice


@dataclass(frozen=True, slots=True)
class _Limit:
    """What a condition says of a loop: `factor * var + rest + x + first < 0`, or the contrary.

    `x` is what loops below add, from 0 to `span`; `rest` has what stays in the loop, atoms and their factors.
    """

    factor: int
    rest: tuple[tuple[Expr, int], ...]
    below: frozenset[tuple[Expr, int]]
    first: int
    span: int
    contrary: bool

    @property
    def key(self) -> tuple[object, ...]:
        return self.factor, frozenset(self.rest), self.below, self.first

    @property
    def is_even(self) -> bool:
        """Whether what stays in the loop counts in whole iterations."""
        return all(own % self.factor == 0 for _, own in self.rest)

    @property
    def ends(self) -> tuple[int, int]:
        """Before which iteration `<` is certain, and from which on `>=` is, beside the rest.

        Both times the factor where the rest does not count in whole iterations.
        """
        ends = (-self.first - self.span, -self.first)
        if not self.is_even:
            return ends
        return (-(-ends[0] // self.factor), -(-ends[1] // self.factor))

    @property
    def truth(self) -> bool | None:
        """Whether the condition holds, where that is known."""
        if self.factor or self.rest or self.first < 0 <= self.first + self.span:
            return None
        return (self.first < 0) is not self.contrary

    def follows(self, other: _Limit) -> bool | None:
        """What is known of the condition where another holds, and its contrary where that does not."""
        if self.key == other.key:
            return self.contrary is other.contrary
        negative = frozenset((atom, -own) for atom, own in other.rest)
        if not (self.factor or self.span or other.factor or other.span) and frozenset(self.rest) == negative:
            return self.contrary is not other.contrary if self.first == -other.first - 1 else None
        return None


def partition_selects(func: PrimFunc) -> PrimFunc:
    """The function with loops split where they begin to choose another value."""
    return func.with_body(_Selects().stmt(func.body))


class _Selects(StmtMutator):
    """A statement in which loops that copy and compute in one place do not choose in each iteration."""

    def loop(self, s: For) -> Stmt:
        nest = _nest(s) if s.kind is not ForKind.PARALLEL else None
        made = None if nest is None else self._pieces(s, *nest)
        return super().loop(s) if made is None else made

    def branch(self, s: If) -> Stmt:
        holds = isinstance(s.condition, Const) and s.condition.value
        return self.stmt(s.then) if holds else super().branch(s)

    def _pieces(self, s: For, inner: Sequence[For], store: Store) -> Stmt | None:
        choices = _choices(store.value)
        limits = _limits(choices, s, inner)
        decided = {id(each): limit.truth for each, limit in limits if limit.truth is not None}
        if decided:
            return self.stmt(_decided(s, decided))
        several = _are_beside(choices)
        innermost = all(each.kind is not ForKind.SERIAL for each in inner)
        if s.kind is not ForKind.SERIAL or not limits or (several and not innermost) or _is_short(s, inner):
            return None
        if len({limit.key for _, limit in limits}) > (_FEW_LIMITS if several else _MAX_LIMITS):
            return None
        once = [each for each in limits if not (several or each[1].factor or each[1].span)]
        if once:
            return self._once(s, *once[0], limits)
        moving = [limit for _, limit in limits if limit.factor]
        if not moving:
            return None
        group = [each for each in moving if each.key[:2] == moving[0].key[:2]]
        return self._split(s, limits, group)

    def _once(self, s: For, condition: Compare, known: _Limit, limits: list[tuple[Compare, _Limit]]) -> Stmt:
        """for x: f(a if y < n else b)  -->  if y < n: for x: f(a)   else: for x: f(b)"""
        alike = {id(each): limit.follows(known) for each, limit in limits}
        sides = []
        for truth in (True, False):
            decided = {each: same is truth for each, same in alike.items() if same is not None}
            sides.append(self.stmt(_decided(s, decided)))
        return If(condition, *sides)

    def _split(self, s: For, limits: list[tuple[Compare, _Limit]], group: list[_Limit]) -> Stmt | None:
        """The loop in pieces; None where too few iterations would know their choice."""
        ends = {limit.key: limit.ends for limit in group}
        extent = trips(s)
        if extent is not None and _KNOWN * _undecided(set(ends.values()), group[0], extent) > extent:
            return None
        cuts = sorted({end for pair in ends.values() for end in pair})
        places = [ZERO, *[_place(s, group[0], cut) for cut in cuts], s.extent]
        named = [(n, Var(INDEX, "piece"), e) for n, e in enumerate(places[:-1]) if not isinstance(e, Const)]
        for n, var, _ in named:
            places[n] = var
        parts = []
        around = itertools.pairwise((-math.inf, *cuts, math.inf))
        for (low, high), (start, end) in zip(around, itertools.pairwise(places), strict=True):
            decided = {
                id(condition): (high <= ends[limit.key][0]) is not limit.contrary
                for condition, limit in limits
                if limit.key in ends and (high <= ends[limit.key][0] or low >= ends[limit.key][1])
            }
            again = start is ZERO and len(decided) == sum(limit.key in ends for _, limit in limits)
            parts.append(self._piece(_decided(s, decided), start, end, again))
        made = block(*parts)
        for _, var, value in reversed(named):
            made = LetStmt(var, value, made)
        return made

    def _piece(self, s: For, start: Expr, end: Expr, again: bool) -> Stmt:
        """The iterations from one place to another, as a loop from 0; cut `again` where other limits move in it."""
        count = end - start
        if isinstance(count, Const) and count.value <= 0:
            return EMPTY
        if again and not isinstance(count, Const):
            return self.stmt(For(s.var, ZERO, count, s.kind, s.body))
        first = start if isinstance(count, Const) and count.value == 1 else s.var + start
        body = self.stmt(map_exprs(s.body, lambda e: fold_substitute(e, {s.var: first})))
        return body if first is start else For(s.var, ZERO, count, s.kind, body)


def _is_short(s: For, inner: Sequence[For]) -> bool:
    """Whether all that a loop does is too little for more code."""
    counts = [trips(each) for each in (s, *inner)]
    return math.prod([_SHORT if n is None else n for n in counts]) < _SHORT


def _undecided(ends: set[tuple[int, int]], limit: _Limit, extent: int) -> int:
    """In how many iterations at most some choice is open."""
    if limit.rest:
        return sum(last - first for first, last in ends) // (1 if limit.is_even else limit.factor)
    return sum(min(max(last, 0), extent) - min(max(first, 0), extent) for first, last in ends)


def _place(s: For, limit: _Limit, end: int) -> Expr:
    """The iteration in which an end is reached, 0 or the extent where it lies before or behind the loop."""
    if not limit.rest and end <= 0:
        return ZERO
    divisor = limit.factor if limit.is_even else 1
    found = linear({atom: -own // divisor for atom, own in limit.rest}, end)
    if not limit.is_even:
        found = floordiv(found + (limit.factor - 1), limit.factor)
    return Analyzer().simplify(minimum(maximum(found, 0), s.extent))


def _nest(s: For) -> tuple[list[For], Store] | None:
    """The loops below a loop, and the only statement in them, where that is a store of elements that move with it."""
    if not isinstance(s.minimum, Const) or s.minimum.value:
        return None
    inner: list[For] = []
    body = s.body
    while isinstance(body, For) and trips(body) is not None:
        inner.append(body)
        body = body.body
    if not isinstance(body, Store) or body.mask is not None:
        return None
    moves = any(s.var in free_vars(index) for index in body.indices)
    return (inner, body) if moves else None


def _choices(value: Expr) -> list[Select]:
    """The choices by position alone, of what is no position; a choice before those in its branches."""
    found: list[Select] = []
    loaded: set[int] = set()  # what depends on elements
    for node in post_order(value):
        if isinstance(node, Load) or any(id(child) in loaded for child in node.children()):
            loaded.add(id(node))
        if isinstance(node, Select) and node.dtype is not INDEX and id(node.condition) not in loaded:
            found.append(node)
    return found[::-1]


def _are_beside(choices: Sequence[Select]) -> bool:
    """Whether several choices are made, none of which is a branch of another."""
    branches = {id(branch) for node in choices for branch in (node.then, node.otherwise)}
    return sum(id(node) not in branches for node in choices) > 1


def _limits(choices: Sequence[Select], s: For, inner: Sequence[For]) -> list[tuple[Compare, _Limit]]:
    """The comparisons of choices, with what they say of the loop; not those of which that is not known."""
    found: dict[int, tuple[Compare, _Limit]] = {}
    relaxer = Relaxer({}, {})  # one, so that equal atoms are the same
    seen: set[int] = set()
    for choice in choices:
        for node in _compared(choice.condition, seen):
            limit = _limit(node, s, inner, relaxer)
            if limit is not None:
                found[id(node)] = node, limit
    return list(found.values())


def _compared(condition: Expr, seen: set[int]) -> Iterator[Compare]:
    """The comparisons that a condition is made of, but those in what was seen."""
    stack = [condition]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Compare):
            yield node
        elif isinstance(node, Not) or (isinstance(node, Binary) and node.op in ("and", "or")):
            stack.extend(node.children())


def _limit(e: Compare, s: For, inner: Sequence[For], relaxer: Relaxer) -> _Limit | None:
    if e.op not in ("lt", "le", "gt", "ge") or e.a.dtype is not INDEX:
        return None
    found = relaxer.range(e.a - e.b)
    if found is None or found[2] != 1:
        return None
    terms, first = dict(found[0]), found[1] - (e.op in ("le", "gt"))
    contrary = e.op in ("gt", "ge")
    extents = {each.var: trips(each) or 1 for each in inner}
    if s.kind is not ForKind.SERIAL:
        extents[s.var] = trips(s) or 1
    factor = 0 if s.var in extents else terms.pop(s.var, 0)
    if factor < 0:  # -n < 0 is the contrary of n - 1 < 0
        terms, first, contrary = {atom: -own for atom, own in terms.items()}, -first - 1, not contrary
    span = 0
    below, rest = set[tuple[Expr, int]](), list[tuple[Expr, int]]()
    for atom, own in terms.items():
        if isinstance(atom, Var) and atom in extents:
            span += abs(own) * (extents[atom] - 1)
            first += min(0, own * (extents[atom] - 1))
            below.add((atom, own))
        elif {s.var, *extents}.isdisjoint(free_vars(atom)):
            rest.append((atom, own))
        else:
            return None
    return _Limit(abs(factor), tuple(rest), frozenset(below), first, span, contrary)


def _decided(s: For, decided: Mapping[int, bool | None]) -> For:
    """The loop where comparisons, by id, are known."""

    def known(e: Expr) -> Expr:
        done: dict[int, Expr] = {}
        for node in post_order(e):
            fresh = [done[id(child)] for child in node.children()]
            done[id(node)] = BOOLS[bool(decided[id(node)])] if id(node) in decided else _folded(node, fresh)
        return done[id(e)]

    made = map_exprs(s, known)
    assert isinstance(made, For)
    return made


def _folded(node: Expr, fresh: Sequence[Expr]) -> Expr:
    """The node over other children, without choices that are made."""
    if isinstance(node, Binary) and node.op in ("and", "or") and not node.dtype.is_int:
        return (logical_and if node.op == "and" else logical_or)(*fresh)
    if isinstance(node, Not) and not node.dtype.is_int:
        return logical_not(*fresh)
    if isinstance(node, Select) and isinstance(fresh[0], Const):
        return fresh[1] if fresh[0].value else fresh[2]
    return node if identical(fresh, node.children()) else node.rebuild(fresh)
