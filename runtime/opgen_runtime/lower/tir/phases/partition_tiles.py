"""Tiles of which only a run tells how full they are: a tile that is not full is computed as far as it is needed.

for o:
    for k: <work on 8 rows>
    unrolled for u in range(8): if o*8 + u < n: <store row u>
-->
for o:
    if o*8 + 5 < n: <as above>
    else:
        for k: <work on 8 rows>
        unrolled for u in range(5): if o*8 + u < n: <store row u>

and so on for fewer rows.  What is computed for no store is dead, which LLVM finds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ....base.arith import Analyzer, Expr, Var, const, free_vars, lt, structural_equal
from ....base.arith import polynomial as poly
from ....base.vocabulary import INDEX, dataclass
from ...schedule import ForKind
from ..nodes.folding import fold_substitute
from ..nodes.nest import ZERO
from ..nodes.relocate import fresh_buffers
from ..nodes.stmt import For, If, LetStmt, PrimFunc, Stmt, Store
from ..nodes.visit import StmtMutator, children, statements, trips
from ..rewriting.open_partition import guard_of, has_more_work

_LOSS: Final = 1.34  # so many times the work is done for a tile before it has a form of its own
_MAX_TILES: Final = 2  # rows and columns
_IN_TURN: Final = (ForKind.SERIAL, ForKind.PARALLEL)


@dataclass(frozen=True, slots=True)
class _Tile:
    """Unrolled loops of one extent, all of whose stores are guarded; `more(count)`: whether more than `count` run."""

    loops: tuple[Var, ...]
    extent: int
    more: Callable[[int], Expr]
    guards: tuple[If, ...]


def partition_tiles(func: PrimFunc) -> PrimFunc:
    """The function in which tiles have a form for each share of them that may be left."""
    return func.with_body(_Tiles().stmt(func.body))


class _Tiles(StmtMutator):
    """A statement in which tiles have a form for each share of them that may be left."""

    def loop(self, s: For) -> Stmt:
        made = super().loop(s)
        if not isinstance(made, For) or made.kind not in _IN_TURN:
            return made
        tiles = _tiles(made.body)
        if not tiles or not has_more_work(made.body, [guard for tile in tiles for guard in tile.guards]):
            return made
        return replace(made, body=_forms(made.body, tiles))

    def branch(self, s: If) -> Stmt:
        made = super().branch(s)
        if not isinstance(made, If) or made.otherwise is not None or not _has_loop(made.then):
            return made
        tiles = _tiles(made.then)
        return replace(made, then=_forms(made.then, tiles)) if tiles else made


def _has_loop(body: Stmt) -> bool:
    return any(isinstance(each, For) and each.kind in _IN_TURN for each in statements(body))


def _forms(body: Stmt, tiles: Sequence[_Tile]) -> Stmt:
    """The body for whole tiles; where fewer are left, for these."""
    if not tiles:
        return body
    tile, *rest = tiles
    counts = _counts(tile.extent)
    fewer = [fresh_buffers(_Limited(tile.loops, count).stmt(body)) for count in counts]
    *forms, made = [_forms(form, rest) for form in (body, *fewer)]
    for count, form in zip(reversed(counts), reversed(forms), strict=True):
        made = If(tile.more(count), form, made)
    return made


def _counts(extent: int) -> list[int]:
    """The numbers of iterations that have a form, from the most; fewer than a quarter take as long as a quarter.

    What is left in registers of so few waits for the sums before, not for the multipliers.
    """
    found: list[int] = []
    last = extent
    for count in range(extent - 1, max(2, -(-extent // 4)) - 1, -1):
        if last > _LOSS * count:
            found.append(count)
            last = count
    return found


def _tiles(body: Stmt) -> list[_Tile]:
    """The tiles of a body."""
    inside: dict[Var, int | None] = {}
    for each in statements(body):
        if isinstance(each, For):
            inside[each.var] = trips(each)
        elif isinstance(each, LetStmt):
            inside[each.var] = None
    analyzer = Analyzer()
    found: list[_Tile] = []
    for s in _unrolled(body):
        tile = _tile(s, inside, analyzer)
        if tile is None:
            continue
        same = [n for n, other in enumerate(found) if _is_same(other, tile)]
        if same:
            other = found[same[0]]
            loops, guards = (*other.loops, *tile.loops), (*other.guards, *tile.guards)
            found[same[0]] = replace(other, loops=loops, guards=guards)
        else:
            found.append(tile)
    return found[:_MAX_TILES]


def _is_same(a: _Tile, b: _Tile) -> bool:
    return a.extent == b.extent and structural_equal(a.more(1), b.more(1))


def _unrolled(body: Stmt) -> Iterator[For]:
    """The unrolled loops of a body that run once each time, in no serial one and in no branch."""
    stack = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, If) or (isinstance(node, For) and node.kind in _IN_TURN):
            continue
        if isinstance(node, For) and node.kind is ForKind.UNROLLED:
            yield node
        stack.extend(reversed(children(node)))


def _tile(s: For, inside: Mapping[Var, int | None], analyzer: Analyzer) -> _Tile | None:
    extent = trips(s)
    if extent is None or extent < 2:
        return None
    guards: list[If] = []
    known: Callable[[int], Expr] | None = None
    for each in statements(s.body):
        more = _more(each, s.var, inside, analyzer) if isinstance(each, If) else None
        if more is None:
            continue
        if known is not None and not structural_equal(known(1), more(1)):
            return None
        assert isinstance(each, If)
        guards.append(each)
        known = more
    if known is None or not _is_guarded(s.body, {id(guard) for guard in guards}):
        return None
    return _Tile((s.var,), extent, known, tuple(guards))


def _more(
    s: If, var: Var, inside: Mapping[Var, int | None], analyzer: Analyzer
) -> Callable[[int], Expr] | None:
    """Whether a guard holds of any iteration over `var` from a number on; None for what is no guard on dims."""
    condition = guard_of(s)
    if condition is None:
        return None
    factors, entangled = analyzer.coefficients(condition.a - condition.b)
    slope = poly.as_constant(factors.get(var, poly.ZERO))
    if slope is None or slope <= 0 or not entangled.isdisjoint(inside):
        return None
    first: dict[Var, Expr] = {}
    for moving in factors:
        if moving is var or moving not in inside:
            continue
        slope, extent = poly.as_constant(factors[moving]), inside[moving]
        if slope is None or extent is None:
            return None
        first[moving] = const(0 if slope >= 0 else extent - 1, INDEX)
    outer = set(free_vars(condition)) - {var, *first}
    if not outer.isdisjoint(inside) or not any(each.size for each in outer):
        return None

    def more(count: int) -> Expr:
        values = {**first, var: const(count, INDEX)}
        a, b = (analyzer.simplify(fold_substitute(part, values)) for part in (condition.a, condition.b))
        return lt(a, b)

    return more


def _is_guarded(body: Stmt, guards: Collection[int]) -> bool:
    """Whether every store stands under one of the guards."""
    if isinstance(body, Store):
        return False
    return id(body) in guards or all(_is_guarded(part, guards) for part in children(body))


class _Limited(StmtMutator):
    """A statement of which some loops run `count` times."""

    def __init__(self, loops: Collection[Var], count: int) -> None:
        self.loops, self.count = set(loops), count

    def loop(self, s: For) -> Stmt:
        made = super().loop(s)
        if s.var not in self.loops:
            return made
        assert isinstance(made, For)
        return For(s.var, ZERO, const(self.count, INDEX), s.kind, made.body)
