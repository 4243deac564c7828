"""wrap_vectors: positions that start again after an open number of elements are read in the two pieces that they have.

y[..] = x[ramp(a, 1, 16) % splat(m, 16)]
-->
if m >= 16:
    start = a % m
    y[..] = x[ramp(start, 1, 16)] if ramp(start, 1, 16) < splat(m, 16) else x[ramp(start - m, 1, 16)]
else:
    start = a % m
    y[..] = x[ramp(start, 1, 16) - ramp(start, 1, 16) * splat(UNIT // m + 1, 16) // splat(UNIT, 16) * splat(m, 16)]

So is how often they have started: `ramp(a, 1, 16) // splat(m, 16)` is `a // m`, and one more behind the end; in short
lines as many more as there are in the rest, which is a product with a reciprocal.  No vector is divided, and elements
that lie side by side in long lines are not gathered.  Which is executed is chosen outside of loops (`Unswitch`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final, TypeAlias

from ....base.arith import (
    Binary,
    Const,
    Expr,
    Select,
    Var,
    const,
    floordiv,
    floormod,
    ge,
    logical_and,
    lt,
    post_order,
    rewrite,
    structural_equal,
)
from ....base.vocabulary import INDEX, dataclass
from ..nodes.nest import ZERO
from ..nodes.stmt import LetStmt, Load, PrimFunc, Ramp, Splat, Stmt, Store
from ..nodes.vector import MAX_LANES, splat
from ..nodes.visit import map_exprs
from ..rewriting.unswitch import Unswitch

UNIT: Final = 2 * MAX_LANES**2  # of reciprocals: exact for numbers below two vectors by those below one
_MAX_WRAPS: Final = 2  # of one store that is read in pieces
_MAX_PIECES: Final = 4  # of one vector

_Divided: TypeAlias = tuple[Expr, Expr]
"""A quotient and a remainder."""


def wrap_vectors(func: PrimFunc) -> PrimFunc:
    """The function without quotients and remainders of positions side by side by what is no constant."""
    return func.with_body(_Wraps().unswitched(func.body))


@dataclass(frozen=True, slots=True)
class _Wrap:
    """Positions side by side in lines of `size` elements; the first of them is the element `start` of its line."""

    positions: Ramp
    size: Expr
    start: Var

    @property
    def in_line(self) -> Ramp:
        """The positions from the beginning of the line of the first."""
        return replace(self.positions, base=self.start)

    def two_pieces(self) -> _Divided:
        """What lies before the end of the line, and what lies behind it: it is as long as the vector, or longer."""
        lanes, first = self.positions.lanes, floordiv(self.positions.base, self.size)
        before = lt(self.in_line, splat(self.size, lanes))
        behind = replace(self.positions, base=self.start - self.size)
        rounds = Select(INDEX, before, splat(first, lanes), splat(first + 1, lanes))
        return rounds, Select(INDEX, before, self.in_line, behind)

    def by_reciprocal(self) -> _Divided:
        """Where lines are shorter than the vector."""
        lanes, unit = self.positions.lanes, const(UNIT, INDEX)
        share = splat(floordiv(unit, self.size) + 1, lanes)
        rounds = floordiv(self.in_line * share, splat(unit, lanes))
        first = splat(floordiv(self.positions.base, self.size), lanes)
        return first + rounds, self.in_line - rounds * splat(self.size, lanes)


class _Wraps(Unswitch):
    """A statement whose stores read in pieces."""

    def store(self, s: Store) -> Stmt:
        wraps = _wraps(s.value)
        if not wraps:
            return s
        pieces: Stmt = _divided(s, wraps, _Wrap.two_pieces)
        if len(wraps) <= _MAX_WRAPS and not any(_is_scattered(e) for e in post_order(s.value)):
            pieces = map_exprs(pieces, _loaded)
        longer = reduce(logical_and, [ge(wrap.size, wrap.positions.lanes) for wrap in wraps])
        short = _divided(s, wraps, _Wrap.by_reciprocal)
        return self.version(longer, _with_starts(pieces, wraps), _with_starts(short, wraps))


def _wraps(value: Expr) -> list[_Wrap]:
    """The different lines, of a length that is no constant, in which positions side by side are looked at."""
    found: list[_Wrap] = []
    for node in post_order(value):
        if not isinstance(node, Binary) or node.op not in ("floordiv", "floormod") or node.dtype is not INDEX:
            continue
        if not isinstance(node.a, Ramp) or not isinstance(node.b, Splat) or isinstance(node.b.value, Const):
            continue
        side_by_side = isinstance(node.a.stride, Const) and node.a.stride.value == 1
        is_read = any(isinstance(each, Load) for each in post_order(node.b.value))
        if side_by_side and not is_read and not any(_is_in(node, wrap) for wrap in found):
            found.append(_Wrap(node.a, node.b.value, Var(INDEX, "start")))
    return found


def _is_in(node: Binary, wrap: _Wrap) -> bool:
    """Whether a node is a quotient or a remainder of a wrap's positions by the length of its lines."""
    return (
        isinstance(node.b, Splat)
        and structural_equal(node.a, wrap.positions)
        and structural_equal(node.b.value, wrap.size)
    )


def _divided(s: Store, wraps: Sequence[_Wrap], divide: Callable[[_Wrap], _Divided]) -> Store:
    """The store with other expressions for quotients and remainders."""
    made = [(wrap, divide(wrap)) for wrap in wraps]

    def known(node: Expr) -> Expr | None:
        if not isinstance(node, Binary) or node.op not in ("floordiv", "floormod") or node.dtype is not INDEX:
            return None
        found = next((divided for wrap, divided in made if _is_in(node, wrap)), None)
        return None if found is None else found[node.op == "floormod"]

    return replace(s, value=rewrite(s.value, known))


def _with_starts(s: Stmt, wraps: Sequence[_Wrap]) -> Stmt:
    """A statement that uses where lines begin."""
    for wrap in reversed(wraps):
        s = LetStmt(wrap.start, floormod(wrap.positions.base, wrap.size), s)
    return s


def _is_scattered(e: Expr) -> bool:
    """A load at quotients of vectors: its pieces would not lie side by side, and be gathered, twice."""
    return isinstance(e, Load) and any(
        isinstance(node, Binary) and node.op == "floordiv" and isinstance(node.a, Ramp)
        for node in post_order(e.indices[0])
    )


def _loaded(e: Expr) -> Expr:
    """The expression with choices between elements instead of between their positions."""
    return rewrite(e, lambda node: _chosen(node) if isinstance(node, Load) else None)


def _chosen(load: Load) -> Expr | None:
    found = list(_read(load, load.indices[0], _MAX_PIECES))
    return found[0] if found else None


def _read(load: Load, index: Expr, most: int) -> Iterator[Expr]:
    """What a load reads at an index, in pieces of which each has no choice in its index; nothing for more of them."""
    choice = next((node for node in post_order(index) if isinstance(node, Select)), None)
    if choice is None:
        yield replace(load, indices=(rewrite(index, _straight),))
        return
    if most < 2:
        return
    sides = [
        each
        for side in (choice.then, choice.otherwise)
        for each in _read(load, _taken(index, choice, side), most // 2)
    ]
    if len(sides) == 2:
        yield Select(load.dtype, choice.condition, *sides)


def _taken(index: Expr, choice: Select, side: Expr) -> Expr:
    """An index in which a choice is made."""
    return rewrite(index, lambda node: side if node is choice or structural_equal(node, choice) else None)


def _straight(node: Expr) -> Expr | None:
    """Sums and differences of one position and of positions in steps, as positions in steps."""
    if not isinstance(node, Binary) or node.op not in ("add", "sub"):
        return None
    first, second = (_steps(rewrite(side, _straight)) for side in (node.a, node.b))
    if first is None or second is None:
        return None
    (a, a_step, lanes), (b, b_step, _) = first, second
    if node.op == "add":
        return Ramp(INDEX, a + b, a_step + b_step, lanes)
    return Ramp(INDEX, a - b, a_step - b_step, lanes)


def _steps(e: Expr) -> tuple[Expr, Expr, int] | None:
    if isinstance(e, Ramp):
        return e.base, e.stride, e.lanes
    return (e.value, ZERO, e.lanes) if isinstance(e, Splat) else None
