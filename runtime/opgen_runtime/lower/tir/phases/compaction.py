"""compaction: what loops pick is stored one after the other, counted in a register (compacted.py, packing.py).

out[..] = 0                                                 for f in range(n):
for f in range(n):                                              out[k] = x[f]
    c[f] = (c[f - 1] if f > 0 else 0) + (1 if p(f) else 0)      k = k + (1 if p(f) else 0)
    if p(f): out[c[f] - 1] = x[f]                           many = k
many = c[n - 1]

What lies behind the last element that was picked is filled only where somebody may look: the rows of an output that
callers do not see are left, and stages that make such rows, one of each, make only those that are seen (limited.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ....base.arith import Analyzer, Const, Expr, Select, Var, cast, post_order, rewrite, structural_equal
from ....base.vocabulary import INDEX, dataclass
from ..analysis.stream_compaction import Compaction, find_compaction, is_load_of
from ..nodes.nest import ZERO
from ..nodes.stmt import Allocate, Block, Buffer, For, ForKind, LetStmt, Load, PrimFunc, Stmt, Store
from ..nodes.visit import EMPTY, StmtMutator, block, exprs, statements
from ..rewriting.compaction_loops import packing
from ..rewriting.limited import limited, loads_of, output_of, reads_behind


def compaction(func: PrimFunc) -> PrimFunc:
    """The function with the count of each loop that picks elements in a register."""
    phase = _Compaction(func)
    body = phase.stmt(func.body)
    if body is func.body:
        return func
    return func.with_body(_Without(phase.dropped).stmt(body))


@dataclass(frozen=True, slots=True)
class _Site:
    """A loop that picks and the statements around it: those before, those that store how many there are, the rest."""

    loop: Stmt
    found: Compaction
    before: Sequence[Stmt]
    totals: Sequence[Store]
    rest: Sequence[Stmt]


class _Compaction(StmtMutator):
    """Looks outside of loops alone, where each statement runs once at most."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.dropped: set[int] = set()  # stores whose elements nobody reads any more

    def loop(self, s: For) -> Stmt:
        return s

    def allocate(self, s: Allocate) -> Stmt:
        site = _site(s)
        made = None if site is None else self._made(site)
        return super().allocate(s) if made is None else made

    def _made(self, site: _Site) -> Stmt | None:
        """The statements of a site anew; None where what is stored there is also filled or read in other ways."""
        starts: dict[Buffer, list[Store]] = {}
        for buffer in dict.fromkeys(one.buffer for one in site.found.picked):
            found = self._starts(buffer, site.loop)
            if found is None:
                return None
            starts[buffer] = found
        seen = self._seen(site)
        nests = self._unseen(site.rest, seen)
        count = Buffer(site.found.count.name, (1,), site.found.count.dtype, "local")
        number = Load(count.dtype, count, (ZERO,))
        parts = [packing(site.found, count, self.func.vectors)]
        for buffer, found in starts.items():
            self.dropped.update(map(id, found))
            width = next(one.width for one in site.found.picked if one.buffer is buffer)
            if found and not self._is_hidden(buffer, width, seen, nests):
                rows = site.found.extent - cast(number, INDEX)
                parts.append(_filled(buffer, found[0].value, cast(number, INDEX) * width, rows * width))
        for total in site.totals:
            value = rewrite(total.value, lambda e: number if is_load_of(e, site.found.count) else None)
            parts.append(replace(total, value=value))
        rest = block(*site.rest)
        if nests:
            output = next(s.buffer for s in site.totals if self._is_count(s, site))
            many = Var(INDEX, "seen")
            inner = [limited(s, many) if any(s is nest for nest in nests) else s for s in site.rest]
            rest = LetStmt(many, cast(Load(output.dtype, output, (ZERO,)), INDEX), block(*inner))
        return block(*site.before, Allocate(count, block(*parts)), self.stmt(rest))

    def _starts(self, buffer: Buffer, loop: Stmt) -> list[Store] | None:
        """The stores of one constant that fill a buffer before the loop; None where it is used in other ways."""
        found: list[Store] = []
        reached = False
        for s in statements(self.func.body):
            reached = reached or s is loop
            if not reached and any(is_load_of(n, buffer) for e in exprs(s) for n in post_order(e)):
                return None
            if isinstance(s, Store) and s.buffer is buffer and not reached:
                found.append(s)
        inside = {id(s) for s in statements(loop)}
        stores = [s for s in statements(self.func.body) if isinstance(s, Store) and s.buffer is buffer]
        if any(id(s) not in inside and all(s is not other for other in found) for s in stores):
            return None
        values = [s.value for s in found]
        same = all(isinstance(v, Const) and structural_equal(v, values[0]) for v in values)
        return found if same else None

    def _seen(self, site: _Site) -> dict[Buffer, int | Expr]:
        """The outputs of which so many rows are seen as were picked, and the width of their rows."""
        counts = {s.buffer for s in site.totals if self._is_count(s, site)}
        outputs = self.func.outputs
        return {outputs[s.output]: s.width for s in self.func.seen if outputs[s.count] in counts}

    @staticmethod
    def _is_count(s: Store, site: _Site) -> bool:
        """Whether a statement stores how many were picked."""
        value = s.value
        if isinstance(value, Select) and isinstance(value.otherwise, Const) and value.otherwise.value == 0:
            value = value.then
        return is_load_of(value, site.found.count) and isinstance(s.indices[0], Const)

    def _unseen(self, rest: Sequence[Stmt], seen: Mapping[Buffer, int | Expr]) -> list[Stmt]:
        """The nests whose rows nobody looks at beyond those that are seen, of one element each."""
        nests = [s for s in rest if (made := output_of(s)) is not None and seen.get(made) == 1]
        while True:
            kept = [nest for nest in nests if self._is_read_behind(output_of(nest), nests)]
            if len(kept) == len(nests):
                return nests
            nests = kept

    def _is_read_behind(self, buffer: Buffer | None, nests: Sequence[Stmt]) -> bool:
        """Whether a row of a buffer is read for rows of other nests that are not before it, and for nothing else."""
        there = [nest for nest in nests if buffer is not None and reads_behind(nest, buffer)]
        count = sum(load.buffer is buffer for nest in there for load in loads_of(nest))
        return count == sum(load.buffer is buffer for load in loads_of(self.func.body))

    def _is_hidden(
        self, buffer: Buffer, width: int, seen: Mapping[Buffer, int | Expr], nests: Sequence[Stmt]
    ) -> bool:
        """Whether nobody looks at the rows of a buffer that were not picked."""
        if buffer in self.func.outputs and seen.get(buffer) != width:
            return False
        return self._is_read_behind(buffer, nests if width == 1 else ())


def _site(s: Allocate) -> _Site | None:
    """Where a buffer counts what the loop behind its allocation picks; None where it does not, or is needed whole."""
    parts = s.body.body if isinstance(s.body, Block) else (s.body,)
    for place, part in enumerate(parts):
        found = find_compaction(part, s.buffer)
        if found is None:
            continue
        totals: list[Store] = []
        rest: list[Stmt] = []
        for other in parts[place + 1 :]:
            loads = [n for n in loads_of(other) if n.buffer is s.buffer]
            if not loads:
                rest.append(other)
            elif isinstance(other, Store) and _is_total(other, loads, found):
                totals.append(other)
            else:
                return None
        before = parts[:place]
        if any(_uses(each, s.buffer) for each in before):
            return None
        stored = {t.buffer for t in totals}
        if any(_uses(each, buffer) for each in rest for buffer in stored):
            return None
        return _Site(part, found, before, totals, rest)
    return None


def _uses(s: Stmt, buffer: Buffer) -> bool:
    stores = any(isinstance(each, Store) and each.buffer is buffer for each in statements(s))
    return stores or any(n.buffer is buffer for n in loads_of(s))


def _is_total(s: Store, loads: Sequence[Load], found: Compaction) -> bool:
    """Whether a statement takes the last count, and nothing else."""
    if s.mask is not None or len(loads_of(s)) != len(loads) or not isinstance(s.indices[0], Const):
        return False
    last = [Analyzer().simplify(load.indices[0] - found.extent) for load in loads]
    return all(isinstance(each, Const) and each.value == -1 for each in last)


def _filled(buffer: Buffer, value: Expr, start: Expr, extent: Expr) -> Stmt:
    """A constant in the elements from `start` on."""
    first, place = Var(INDEX, "first"), Var(INDEX, "place")
    body = Store(buffer, (first + place,), value)
    return LetStmt(first, start, For(place, ZERO, extent, ForKind.SERIAL, body))


class _Without(StmtMutator):
    def __init__(self, dropped: set[int]) -> None:
        self.dropped = dropped

    def store(self, s: Store) -> Stmt:
        return EMPTY if id(s) in self.dropped else s
