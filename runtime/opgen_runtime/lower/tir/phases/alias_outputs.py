"""Output aliasing: temporaries live where the elements of an output will be, which are made of theirs one by one.

for i: allocate e; for j: e[j] = f(j); for j: out[i * 1000 + j] = g(e[j])
-->
for i: for j: out[i * 1000 + j] = f(j); for j: out[i * 1000 + j] = g(out[i * 1000 + j])

The lines of the output come to the cache while `f` is computed, not all at once behind it, and less memory is in use.
An output that is written by non-temporal stores takes none: its lines are not to come at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from ....base.arith import Const, Expr, Var, const, post_order
from ....base.arith.relax import Relaxer, Terms, linear
from ....base.vocabulary import INDEX
from ..analysis.nontemporal import nontemporal_outputs
from ..nodes.relocate import Indices, Relocator
from ..nodes.stmt import Allocate, Block, Buffer, For, If, Load, PrimFunc, Ramp, Stmt, Store
from ..nodes.visit import StmtMutator, exprs, statements, trips

_MIN_BYTES: Final = 1 << 10  # smaller ones may be in registers, and lie aligned


def alias_outputs(func: PrimFunc) -> PrimFunc:
    """The function with such temporaries in its outputs.

    Such is a local one if its elements are read for the last time by the stores that make the elements of one output,
    each at its own position of a part of the output which no other iteration of the loops around touches.
    """
    return func.with_body(_Aliases(func).stmt(func.body))


class _Aliases(StmtMutator):
    def __init__(self, func: PrimFunc) -> None:
        self.uses = _uses(func.body)
        self.outputs = frozenset(func.outputs) - nontemporal_outputs(func)
        self.around: list[For] = []
        self.positions = Relaxer({}, {})  # one, so that equal atoms are the same

    def loop(self, s: For) -> Stmt:
        self.around.append(s)
        made = super().loop(s)
        self.around.pop()
        return made

    def allocate(self, s: Allocate) -> Stmt:
        size = s.buffer.shape[0]
        if (
            s.buffer.scope == "local"
            and isinstance(size, int)
            and size * s.buffer.dtype.itemsize >= _MIN_BYTES
        ):
            used, steps = _uses(s.body), _steps(s.body)
            for output in self.outputs & used.keys():
                alone = output.dtype is s.buffer.dtype and self.uses[output] == used[output]
                start = _start(steps, s.buffer, output, size, self.positions) if alone else None
                if start is not None and self._is_own(start[0], size):
                    moved = _Moved(s.buffer, output, linear(*start))
                    return self.stmt(moved.stmt(s.body))
        return super().allocate(s)

    def _is_own(self, start: Terms, size: int) -> bool:
        """Whether iterations of the loops around begin at least `size` elements apart."""
        loops = {loop.var: trips(loop) for loop in self.around if trips(loop) != 1}
        if start.keys() != loops.keys():
            return False
        reach: int | None = size
        for var, count in sorted(loops.items(), key=lambda pair: start[pair[0]]):
            factor = start[var]
            if reach is None or factor < reach:
                return False
            reach = None if count is None else reach + factor * (count - 1)
        return True


class _Moved(Relocator):
    """The accesses of one temporary at a place of an output."""

    def __init__(self, temporary: Buffer, output: Buffer, start: Expr) -> None:
        super().__init__({temporary: output}, self._placed)
        self.start = start

    def _placed(self, _: Buffer, indices: Indices) -> Indices:
        (index,) = indices
        if isinstance(index, Ramp):
            return (replace(index, base=self.start + index.base),)
        return (self.start + index,)


def _uses(body: Stmt) -> dict[Buffer, int]:
    """How many statements store to a buffer, and loads read it."""
    found: dict[Buffer, int] = {}
    for s in statements(body):
        if isinstance(s, Store):
            found[s.buffer] = found.get(s.buffer, 0) + 1
        for load in _loads(s):
            found[load.buffer] = found.get(load.buffer, 0) + 1
    return found


def _loads(s: Stmt) -> Iterator[Load]:
    for e in exprs(s):
        yield from (node for node in post_order(e) if isinstance(node, Load))


def _steps(body: Stmt) -> list[Stmt]:
    """The statements that run one after the other."""
    if isinstance(body, Block):
        return [step for part in body.body for step in _steps(part)]
    inside = _inside(body)
    return [body] if inside is None else _steps(inside)


def _inside(s: Stmt) -> Stmt | None:
    """What runs once where a statement does: under an allocation, or a condition that holds."""
    if isinstance(s, If) and isinstance(s.condition, Const) and s.condition.value:
        return s.then
    return s.body if isinstance(s, Allocate) else None


def _start(
    steps: list[Stmt], temporary: Buffer, output: Buffer, size: int, positions: Relaxer
) -> tuple[Terms, int] | None:
    """Where in the output the temporary's first element belongs; None if it may not live there.

    From the first store to the output on, each element of the temporary is read for one element of the output, at the
    same distance, once, and is not written.
    """
    first = next(n for n, step in enumerate(steps) if output in _uses(step))
    spans: list[tuple[int, int]] = []
    start: tuple[Terms, int] | None = None
    for step in steps[first:]:
        for store, loops in _stores(step, temporary, output, ()):
            found = None if store is None else _span(store, temporary, loops, positions)
            if found is None or (start is not None and found[:2] != start):
                return None
            start = found[:2]
            spans.append(found[2])
    return start if _covers(spans, size) else None


def _stores(
    s: Stmt, temporary: Buffer, output: Buffer, loops: tuple[For, ...]
) -> Iterator[tuple[Store | None, tuple[For, ...]]]:
    """The stores to the output with the loops around each; None for what else has to do with either buffer."""
    if isinstance(s, Store) and s.buffer is output and s.mask is None:
        yield (None if any(load.buffer is output for load in _loads(s)) else s), loops
    elif isinstance(s, For):
        yield from _stores(s.body, temporary, output, (*loops, s))
    elif isinstance(s, Block):
        for part in s.body:
            yield from _stores(part, temporary, output, loops)
    elif (inside := _inside(s)) is not None:
        yield from _stores(inside, temporary, output, loops)
    elif not {temporary, output}.isdisjoint(_uses(s)):
        yield None, loops


def _span(
    store: Store, temporary: Buffer, loops: tuple[For, ...], positions: Relaxer
) -> tuple[Terms, int, tuple[int, int]] | None:
    """How far the stored elements are from those that are read, and which part of the temporary is read, once each."""
    loads = [load for load in _loads(store) if load.buffer is temporary]
    there = _position(store.indices, positions)
    if not loads or there is None:
        return None
    here = _position(loads[0].indices, positions)
    if here is None or any(
        load.mask is not None or _position(load.indices, positions) != here for load in loads
    ):
        return None
    span = _run(here, {loop.var: trips(loop) for loop in loops if trips(loop) != 1})
    if there[2] != here[2] or span is None:
        return None
    apart = {atom: there[0].get(atom, 0) - here[0].get(atom, 0) for atom in (*there[0], *here[0])}
    apart = {atom: factor for atom, factor in apart.items() if factor}
    return apart, there[1] - here[1], span


def _position(indices: tuple[Expr, ...], positions: Relaxer) -> tuple[Terms, int, int] | None:
    """The terms and the constant of the first of so many elements that lie side by side."""
    (index,) = indices
    ramp = index if isinstance(index, Ramp) else Ramp(index.dtype, index, const(1, index.dtype), 1)
    if not isinstance(ramp.stride, Const) or ramp.stride.value != 1:
        return None
    lanes = ramp.lanes
    found = positions.range(ramp.base) if ramp.dtype is INDEX else None
    return None if found is None or found[2] != 1 else (found[0], found[1], lanes)


def _run(position: tuple[Terms, int, int], loops: Mapping[Var, int | None]) -> tuple[int, int] | None:
    """From where to where loops go through elements, each once; None if they leave gaps, or it is not seen."""
    terms, low, length = position
    if terms.keys() != loops.keys():
        return None
    for var, count in sorted(loops.items(), key=lambda pair: terms[pair[0]]):
        factor = terms[var]
        if factor != length or count is None:
            return None
        length *= count
    return low, low + length


def _covers(spans: list[tuple[int, int]], size: int) -> bool:
    """Whether parts make up all of so many elements, without overlap."""
    reached = 0
    for low, high in sorted(spans):
        if low != reached:
            return False
        reached = high
    return reached == size
