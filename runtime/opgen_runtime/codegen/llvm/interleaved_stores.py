"""Interleaved stores of several vectors, between each other's lanes: shuffled, and stored in whole vectors.

out[i : i + 2*n : 2] = a; out[i + 1 : i + 1 + 2*n : 2] = b
-->
out[i : i + n] = a[0], b[0], a[1], ...; out[i + n : i + 2*n] = a[n/2], b[n/2], ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from ...base.arith import Analyzer, Const, post_order
from ...base.vocabulary import BOOL, DType, dataclass
from ...lower.tir.nodes.stmt import Load, Ramp, Store
from . import arithmetic, memory, strided
from .expression import ExpressionEmitter, flat_index
from .memory import Memory
from .text import FunctionText, Value, constant, ramp, register
from .text.types import register_type

_MAX_VECTORS: Final = strided.MIN_GATHERED_STRIDE - 1  # vectors
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class InterleavedStores:
    """Stores of which each fills places that the lanes of the others leave, none of which reads what they store."""

    stores: tuple[Store, ...]


def interleave(parts: Sequence[Part]) -> Iterator[Part | InterleavedStores]:
    """Statements, and what stands for several, in their order; those together that store between each other's lanes."""
    at = 0
    while at < len(parts):
        stores = _together(parts, at)
        yield InterleavedStores(stores) if stores else parts[at]
        at += max(1, len(stores))


def _together(parts: Sequence[object], at: int) -> tuple[Store, ...]:
    """The stores from a place on that are interleaved; nothing where it stands for itself."""
    first = _strided(parts[at])
    if first is None or at + first[2] > len(parts):
        return ()
    store, index, count = first
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


def _strided(part: object) -> tuple[Store, Ramp, int] | None:
    """A store to every second to fourth element, its index and stride, of a value that does not read the buffer."""
    if not isinstance(part, Store) or len(part.indices) != 1:
        return None
    index = part.indices[0]
    if not isinstance(index, Ramp) or not isinstance(index.stride, Const):
        return None
    stride = int(index.stride.value)
    if not 1 < stride <= _MAX_VECTORS or index.lanes < strided.MIN_LANES or index.lanes & (index.lanes - 1):
        return None
    read = [part.value] if part.mask is None else [part.value, part.mask]
    own = any(isinstance(n, Load) and n.buffer is part.buffer for e in read for n in post_order(e))
    return None if own else (part, index, stride)


def store(
    f: FunctionText, expressions: ExpressionEmitter, target: Memory, interleaved: InterleavedStores
) -> None:
    """Stores that are interleaved: every value is found before the first of them is stored."""
    stores = interleaved.stores
    expressions.forget()
    values = [expressions.emit(each.value) for each in stores]
    masks = [expressions.emit(each.mask) for each in stores if each.mask is not None]
    indices = [expressions.emit(flat_index(each.buffer, each.indices)) for each in stores]
    first, lanes = indices[0].scalar, indices[0].lanes
    if first is None or (masks and not memory.has_masks(f, target)):
        for number, (index, value) in enumerate(zip(indices, values, strict=True)):
            memory.store(f, target, index, value, masks[number] if masks else None)
        return
    rows = _rows(f, target.dtype, lanes, values)
    where = _rows(f, BOOL, lanes, masks) if masks else None
    for number, row in enumerate(rows):
        start = arithmetic.binary(f, "add", first, constant(first.dtype, number * lanes))
        memory.store(f, target, ramp(start, 1, lanes), row, None if where is None else where[number])


def _rows(f: FunctionText, dtype: DType, lanes: int, values: Sequence[Value]) -> list[Value]:
    """As many vectors, of the first lane of each, then the second of each, and so on."""
    kind, vectors = register_type(dtype, lanes), [f.vector(value, lanes) for value in values]
    rows = []
    for start in range(0, len(vectors) * lanes, lanes):
        places = [divmod(start + lane, len(vectors)) for lane in range(lanes)]
        found = vectors[0]
        for number, vector in enumerate(vectors[1:], 1):
            order = [
                lanes + place if of == number else (place if number == 1 else lane) if of < number else None
                for lane, (place, of) in enumerate(places)
            ]
            found = strided.shuffle(f, kind, found, vector, order)
        rows.append(register(dtype, lanes, found))
    return rows
