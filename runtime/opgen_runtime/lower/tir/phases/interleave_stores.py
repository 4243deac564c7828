"""interleave_stores: stores of several vectors between each other's lanes become one of consecutive elements.

out[ramp(i, 2, 8)] = a
out[ramp(i + 1, 2, 8)] = b
-->
out[ramp(i, 1, 16)] = shuffle(a, b; 0, 8, 1, 9, ...)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....base.arith import Analyzer, Const, Expr, Var, const, identical, post_order
from ....base.vocabulary import INDEX
from ..nodes.stmt import Block, Load, PrimFunc, Ramp, Shuffle, Stmt, Store
from ..nodes.vector import (
    MAX_LANES,
    MIN_GATHERED_STRIDE,
    MIN_STRIDED_LANES,
    Lanes,
    splat,
    vector_variables,
)
from ..nodes.visit import StmtMutator


def interleave_stores(func: PrimFunc) -> PrimFunc:
    """The function with such stores joined, of which none reads what they store."""
    return func.with_body(_Interleave(func).stmt(func.body))


class _Interleave(StmtMutator):
    def __init__(self, func: PrimFunc) -> None:
        self._func = func
        self._vectors = vector_variables(func.body)

    def block(self, s: Block) -> Stmt:
        parts = [self.stmt(part) for part in s.body]
        made = tuple(self._joined(parts))
        return s if identical(made, s.body) else made[0] if len(made) == 1 else Block(made)

    def _joined(self, parts: Sequence[Stmt]) -> Iterator[Stmt]:
        at = 0
        while at < len(parts):
            stores = self._together(parts, at)
            yield _interleaved(stores, self._vectors) if stores else parts[at]
            at += max(1, len(stores))

    def _together(self, parts: Sequence[Stmt], at: int) -> tuple[Store, ...]:
        """The stores from a place on that are joined; nothing where it stands for itself."""
        first = _strided(parts[at])
        if first is None or at + first[2] > len(parts):
            return ()
        store, index, count = first
        if store.mask is not None and not self._func.has_masks(store.buffer):
            return ()
        stores, analyzer = [store], Analyzer()
        for number, part in enumerate(parts[at + 1 : at + count], 1):
            found = _strided(part)
            if found is None or found[2] != count or found[1].lanes != index.lanes:
                return ()
            if found[0].buffer is not store.buffer or (found[0].mask is None) is not (store.mask is None):
                return ()
            behind = analyzer.simplify(found[1].base - index.base)
            if not isinstance(behind, Const) or behind.value != number:
                return ()
            stores.append(found[0])
        return tuple(stores)


def _strided(part: Stmt) -> tuple[Store, Ramp, int] | None:
    """A store of every second to fourth element that may be joined with others, its index, and how many they are."""
    if not isinstance(part, Store) or len(part.indices) != 1 or part.nontemporal:
        return None
    index = part.indices[0]
    if not isinstance(index, Ramp) or not isinstance(index.stride, Const):
        return None
    stride, lanes = int(index.stride.value), index.lanes
    if not 1 < stride < MIN_GATHERED_STRIDE or lanes < MIN_STRIDED_LANES or lanes & (lanes - 1):
        return None
    if stride * lanes > MAX_LANES:
        return None
    read = [part.value] if part.mask is None else [part.value, part.mask]
    own = any(isinstance(n, Load) and n.buffer is part.buffer for e in read for n in post_order(e))
    return None if own else (part, index, stride)


def _interleaved(stores: Sequence[Store], vectors: Mapping[Var, int]) -> Store:
    """One store for several, whose values are all found before."""
    (index,) = stores[0].indices
    assert isinstance(index, Ramp)
    value = _shuffled([each.value for each in stores], index.lanes, vectors)
    masks = [each.mask for each in stores if each.mask is not None]
    whole = Ramp(INDEX, index.base, const(1, INDEX), len(stores) * index.lanes)
    return Store(stores[0].buffer, (whole,), value, _shuffled(masks, index.lanes, vectors) if masks else None)


def _shuffled(values: Sequence[Expr], lanes: int, vectors: Mapping[Var, int]) -> Shuffle:
    """The first lane of each, then the second of each, and so on."""
    known = Lanes(vectors)
    wide = tuple([splat(each, lanes) if known.of(each) == 1 else each for each in values])
    order = [number * lanes + lane for lane in range(lanes) for number in range(len(wide))]
    return Shuffle(wide[0].dtype, wide, tuple(order))
