"""wrap_vectors: positions that start again after an open number of elements are read in the two pieces that they have.

y[..] = x[ramp(a, 1, 16) % splat(m, 16)]
-->
if m >= 16:
    start = a % m
    y[..] = x[ramp(start, 1, 16)] if ramp(start, 1, 16) < splat(m, 16) else x[ramp(start - m, 1, 16)]
else: <as above>

So is how often they have started: `ramp(a, 1, 16) // splat(m, 16)` is `a // m`, and one more behind the end.  There is
no vector division of positions, and elements that lie side by side need not be gathered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

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
from ....base.vocabulary import INDEX
from ..nodes.nest import ZERO
from ..nodes.relocate import fresh_buffers
from ..nodes.stmt import If, LetStmt, Load, PrimFunc, Ramp, Splat, Stmt, Store
from ..nodes.vector import splat
from ..nodes.visit import StmtMutator, map_exprs

_MAX_WRAPS: Final = 2  # of one store
_MAX_PIECES: Final = 4  # of one vector


def wrap_vectors(func: PrimFunc) -> PrimFunc:
    """The function without remainders of vectors of positions by what is no constant, where these are long enough."""
    return func.with_body(_Wraps().stmt(func.body))


class _Wraps(StmtMutator):
    """A statement whose stores read in pieces."""

    def store(self, s: Store) -> Stmt:
        wraps = list(_wraps(s.value))
        if not wraps or len(wraps) > _MAX_WRAPS or any(_is_scattered(e) for e in post_order(s.value)):
            return s
        starts = [Var(INDEX, "start") for _ in wraps]
        pieces = [_pieces(node, start) for node, start in zip(wraps, starts, strict=True)]
        rounds = [_rounds(node, piece.condition) for node, piece in zip(wraps, pieces, strict=True)]

        def known(node: Expr) -> Expr | None:
            if not isinstance(node, Binary) or node.dtype is not INDEX:
                return None
            made = {"floormod": pieces, "floordiv": rounds}.get(node.op, ())
            return next(
                (each for each, wrap in zip(made, wraps, strict=False) if _is_beside(node, wrap)), None
            )

        made: Stmt = map_exprs(replace(s, value=rewrite(s.value, known)), _loaded)
        longer = [ge(_divisor(node), _positions(node).lanes) for node in wraps]
        for node, start in reversed(list(zip(wraps, starts, strict=True))):
            made = LetStmt(start, floormod(_positions(node).base, _divisor(node)), made)
        return If(logical_and(*longer) if len(longer) > 1 else longer[0], made, fresh_buffers(s))


def _wraps(value: Expr) -> Iterator[Expr]:
    """The different remainders of positions side by side by what is no constant."""
    found: list[Expr] = []
    for node in post_order(value):
        if not isinstance(node, Binary) or node.op != "floormod" or node.dtype is not INDEX:
            continue
        if not isinstance(node.a, Ramp) or not isinstance(node.b, Splat) or isinstance(node.b.value, Const):
            continue
        side_by_side = isinstance(node.a.stride, Const) and node.a.stride.value == 1
        if side_by_side and not any(_is_same(node, each) for each in found):
            found.append(node)
            yield node


def _is_scattered(e: Expr) -> bool:
    """A load at quotients of vectors: its pieces would not lie side by side, and be gathered, twice."""
    return isinstance(e, Load) and any(
        isinstance(node, Binary) and node.op == "floordiv" and isinstance(node.a, Ramp)
        for node in post_order(e.indices[0])
    )


def _is_same(a: Expr, b: Expr) -> bool:
    return isinstance(a, Binary) and a.op == "floormod" and a.dtype is INDEX and structural_equal(a, b)


def _is_beside(node: Binary, wrap: Expr) -> bool:
    """Whether a node is a quotient or a remainder of what a wrap is one of."""
    assert isinstance(wrap, Binary)
    return structural_equal(node.a, wrap.a) and structural_equal(node.b, wrap.b)


def _divisor(node: Expr) -> Expr:
    assert isinstance(node, Binary)
    assert isinstance(node.b, Splat)
    return node.b.value


def _positions(node: Expr) -> Ramp:
    assert isinstance(node, Binary)
    assert isinstance(node.a, Ramp)
    return node.a


def _pieces(node: Expr, start: Expr) -> Select:
    """A remainder from where it starts: what lies before its end, and what lies behind."""
    lanes, one = _positions(node).lanes, const(1, INDEX)
    first = Ramp(INDEX, start, one, lanes)
    behind = Ramp(INDEX, start - _divisor(node), one, lanes)
    return Select(INDEX, lt(first, splat(_divisor(node), lanes)), first, behind)


def _rounds(node: Expr, before: Expr) -> Select:
    """The quotient beside a remainder: that of the first position `before` the end, and one more behind."""
    lanes, first = _positions(node).lanes, floordiv(_positions(node).base, _divisor(node))
    return Select(INDEX, before, splat(first, lanes), splat(first + 1, lanes))


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
