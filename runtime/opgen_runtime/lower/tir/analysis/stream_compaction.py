"""Stream compaction: a loop counts the elements that it picks, and stores what is picked at the count.

for f in range(n):
    c[f] = (c[f - 1] if f > 0 else 0) + (1 if p(f) else 0)
    if p(f): out[c[f] - 1] = v(f)          what is picked: v(f) of every f with p(f)
    last[c[f] - 1] = w(f)                  of stores to one place the last stays: w(f - 1) of every later f with p(f)

The second form needs p(0), so that each store has a place.
"""

from __future__ import annotations

from ....base.arith import (
    Analyzer,
    Binary,
    Cast,
    Const,
    Expr,
    Select,
    Var,
    const,
    post_order,
    rewrite,
    structural_equal,
)
from ....base.arith import polynomial as poly
from ....base.vocabulary import INDEX, dataclass
from ..nodes.folding import fold_substitute
from ..nodes.stmt import Block, Buffer, For, ForKind, If, Load, Stmt, Store
from .canonical import simplified


@dataclass(frozen=True, slots=True)
class Picked:
    """Rows of `buffer`, of `width` elements: column `column` of each is `value`; `last` as above."""

    buffer: Buffer
    width: int
    column: int
    value: Expr
    last: bool


@dataclass(frozen=True, slots=True)
class Compaction:
    """A loop over `var` below `extent` that counts in `count` where `hit` holds; `first`: it holds at 0."""

    var: Var
    extent: Expr
    count: Buffer
    hit: Expr
    first: bool
    picked: tuple[Picked, ...]


def find_compaction(loop: Stmt, count: Buffer) -> Compaction | None:
    """What a loop that counts in `count` picks; None for any other."""
    if (
        count.dtype.bits < 32
        or not isinstance(loop, For)
        or loop.kind is not ForKind.SERIAL
        or not _is_zero(loop.minimum)
    ):
        return None
    parts = loop.body.body if isinstance(loop.body, Block) else (loop.body,)
    hit = _hit(parts[0], count, loop.var) if parts else None
    if hit is None:
        return None
    row = Var(INDEX, "row")
    first = simplified(fold_substitute(hit, {loop.var: const(0, INDEX)}), {})
    picked: list[Picked] = []
    for part in parts[1:]:
        guarded = isinstance(part, If)
        if isinstance(part, If) and (part.otherwise or not structural_equal(part.condition, hit)):
            return None
        inner = part.then if isinstance(part, If) else part
        for store in inner.body if isinstance(inner, Block) else (inner,):
            one = _picked(store, count, loop.var, row, not guarded)
            if one is None:
                return None
            picked.append(one)
    found = Compaction(
        loop.var, loop.extent, count, hit, isinstance(first, Const) and bool(first.value), tuple(picked)
    )
    return found if picked and _is_apart(found) and all(_is_whole(one, found) for one in picked) else None


def is_load_of(e: Expr, buffer: Buffer) -> bool:
    return isinstance(e, Load) and e.buffer is buffer


def _is_zero(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 0


def _is_one(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 1


def _hit(s: Stmt, count: Buffer, var: Var) -> Expr | None:
    """The condition under which `s`, `count[var] = (count[var - 1] if var > 0 else 0) + (1 if hit else 0)`, counts."""
    if not isinstance(s, Store) or s.buffer is not count or s.indices[0] is not var or s.mask is not None:
        return None
    value = s.value
    if not isinstance(value, Binary) or value.op != "add":
        return None
    for before, more in ((value.a, value.b), (value.b, value.a)):
        if not isinstance(before, Select) or not isinstance(more, Select):
            continue
        old = before.then
        if not isinstance(old, Load) or old.buffer is not count or not _is_zero(before.otherwise):
            continue
        behind = Analyzer().simplify(old.indices[0] - var)
        first_step = simplified(before.condition, {var: 1})
        once = isinstance(first_step, Const) and not first_step.value  # not in the first step
        always = simplified(fold_substitute(before.condition, {var: var + 1}), {var: 1 << 62})
        if not (isinstance(behind, Const) and behind.value == -1 and once and _is_one(always)):
            continue
        if _is_one(more.then) and _is_zero(more.otherwise):
            return more.condition
    return None


def _picked(s: Stmt, count: Buffer, var: Var, row: Var, last: bool) -> Picked | None:
    """A store at `(count[var] - 1) * width + column`."""
    if not isinstance(s, Store) or s.mask is not None:
        return None

    def as_row(node: Expr) -> Expr | None:
        """`row` for `count[var] - 1`."""
        if not isinstance(node, Cast) or node.dtype is not INDEX or not isinstance(node.a, Binary):
            return None
        inner = node.a
        if inner.op != "sub" or not _is_one(inner.b) or not is_load_of(inner.a, count):
            return None
        assert isinstance(inner.a, Load)
        return row if inner.a.indices[0] is var else None

    index = rewrite(s.indices[0], as_row)
    factors, entangled = Analyzer().coefficients(index)
    width = poly.as_constant(factors.get(row, poly.ZERO))
    if entangled or width is None or width < 1 or any(isinstance(n, Load) for n in post_order(index)):
        return None
    column = Analyzer().simplify(index - row * width)
    if not isinstance(column, Const) or not 0 <= column.value < width:
        return None
    return Picked(s.buffer, width, int(column.value), s.value, last)


def _is_apart(found: Compaction) -> bool:
    """Whether nothing that is counted or stored is read by the values; what is stored last has a place."""
    stored = {one.buffer for one in found.picked} | {found.count}
    values = [found.hit, *(one.value for one in found.picked)]
    read = {node.buffer for e in values for node in post_order(e) if isinstance(node, Load)}
    return stored.isdisjoint(read) and (found.first or not any(one.last for one in found.picked))


def _is_whole(one: Picked, found: Compaction) -> bool:
    """Whether all of each row is stored, once, in a buffer with a row for each element."""
    own = [other for other in found.picked if other.buffer is one.buffer]
    if any(other.last is not one.last or other.width != one.width for other in own):
        return False
    if sorted(other.column for other in own) != list(range(one.width)):
        return False
    size = Analyzer().simplify(found.extent * one.width - one.buffer.shape[0])
    return isinstance(size, Const) and size.value == 0
