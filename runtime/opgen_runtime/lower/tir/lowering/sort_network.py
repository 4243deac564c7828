"""Sorts of many short lines side by side: a network of minima and maxima, whose vectors hold an element of each line.

    for i in 0, 2, ...:   keys[i], keys[i + 1] = min(keys[i], keys[i + 1]), max(keys[i], keys[i + 1])   and so on

The network is Batcher's (Knuth, The Art of Computer Programming, volume 3, algorithm 5.2.2M).  Where positions are
wanted they are the lower bits of the keys, so that no two are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ....base.arith import (
    Expr,
    Var,
    add,
    bit_and,
    bit_or,
    cast,
    const,
    maximum,
    minimum,
    mul,
    shift_left,
    sub,
)
from ....base.arith.expr import Dim
from ....base.vocabulary import INDEX, UINT64, DType, dataclass
from ....compute.te.tensor import Sort
from ...schedule import ForKind
from ..nodes.builder import load, local, loop, store
from ..nodes.nest import ZERO, as_index
from ..nodes.stmt import Buffer, For, LetStmt, Stmt
from ..nodes.visit import block
from .sort_keys import element_of, key_dtype, key_of

_VECTOR_BYTES: Final = 64
_MAX_LENGTH: Final = 2048  # beyond that the work of a network, n log(n) log(n), is more than that of digits
_POSITION_BITS: Final = 32

Place = Callable[[Expr], tuple[Expr, ...]]  # where element `j` of a line stands


@dataclass(frozen=True, slots=True)
class Network:
    """Sorts of lines of `length` elements, `lanes` of them at once, by keys of `dtype`."""

    op: Sort
    length: int
    dtype: DType

    @property
    def lanes(self) -> int:
        return _VECTOR_BYTES // self.dtype.itemsize

    def statement(self, source: Buffer, target: Buffer, rows: Dim, place: Callable[[Expr], Place]) -> Stmt:
        """All lines, of which there are as many as lanes at least; the last ones overlap those before them."""
        index, first = Var(INDEX, "part"), Var(INDEX, "first")
        begun = minimum(mul(index, self.lanes), sub(rows, self.lanes))
        count = as_index((rows + (self.lanes - 1)) // self.lanes)
        body = local(
            "keys",
            (self.length, self.lanes),
            self.dtype,
            lambda keys: self._part(source, target, first, place, keys),
        )
        return For(index, ZERO, count, ForKind.PARALLEL, LetStmt(first, begun, body))

    def _part(
        self, source: Buffer, target: Buffer, first: Expr, place: Callable[[Expr], Place], keys: Buffer
    ) -> Stmt:
        def filled(j: Expr, lane: Expr) -> Stmt:
            return store(keys, (j, lane), self._key(load(source, *place(add(first, lane))(j)), j))

        def given(i: Expr, lane: Expr) -> Stmt:
            return store(
                target, place(add(first, lane))(i), self._result(load(keys, i, lane), source, target)
            )

        stages = [self._stage(keys, *stage) for stage in stages_of(self.length)]
        return block(self._each(source, filled), *stages, self._each(target, given))

    def _each(self, buffer: Buffer, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
        """For each element of each line of a buffer, in the order of memory: what is written comes line after line."""
        extent = as_index(buffer.shape[self.op.axis])
        if self.op.axis == len(buffer.shape) - 1:
            return loop("lane", self.lanes, lambda lane: loop("j", extent, lambda j: body(j, lane)))
        return loop("j", extent, lambda j: self._lanes(lambda lane: body(j, lane)))

    def _lanes(self, body: Callable[[Expr], Stmt]) -> Stmt:
        return loop("lane", self.lanes, body, kind="vectorized")

    def _stage(self, keys: Buffer, step: int, first: int, distance: int) -> Stmt:
        """The elements at i and i + distance in order, for each i that has the bit `step` as `first` has."""
        whole, rest = divmod(max(self.length - distance - first, 0), 2 * step)
        rest = min(rest, step)

        def ordered(i: Expr) -> Stmt:
            other = add(i, distance)

            def lanes(lane: Expr) -> Stmt:
                a, b = Var(self.dtype, "a"), Var(self.dtype, "b")
                both = block(store(keys, (i, lane), minimum(a, b)), store(keys, (other, lane), maximum(a, b)))
                return LetStmt(a, load(keys, i, lane), LetStmt(b, load(keys, other, lane), both))

            return self._lanes(lanes)

        def run(begun: Expr, count: int) -> Stmt:
            return loop("i", count, lambda i: ordered(add(begun, i)))

        parts = [loop("run", whole, lambda k: run(add(mul(k, 2 * step), first), step))] if whole else []
        if rest:
            parts.append(run(const(whole * 2 * step + first, INDEX), rest))
        return block(*parts)

    def _key(self, value: Expr, j: Expr) -> Expr:
        key = key_of(value, self.op.descending, equal_zeros=self.op.positions)
        if not self.op.positions:
            return key
        return bit_or(shift_left(cast(key, UINT64), const(_POSITION_BITS, UINT64)), cast(j, UINT64))

    def _result(self, key: Expr, source: Buffer, target: Buffer) -> Expr:
        if not self.op.positions:
            return element_of(key, source.dtype, self.op.descending)
        return cast(bit_and(key, const((1 << _POSITION_BITS) - 1, UINT64)), target.dtype)


def network(op: Sort, source: Buffer) -> Network | None:
    """The network of a sort; None where digits are better: of long lines, and where a key has no room for positions."""
    length, dtype = source.shape[op.axis], key_dtype(source.dtype)
    if not isinstance(length, int) or not 1 < length <= _MAX_LENGTH:
        return None
    if not op.positions:
        return Network(op, length, dtype)
    return Network(op, length, UINT64) if dtype.bits <= UINT64.bits - _POSITION_BITS else None


def stages_of(length: int) -> Iterator[tuple[int, int, int]]:
    """The stages of the network: for each the bit of i, what it is there, and the distance."""
    greatest = 1 << ((length - 1).bit_length() - 1)
    step = greatest
    while step:
        reach, first, distance = greatest, 0, step
        while True:
            yield step, first, distance
            if reach == step:
                break
            distance, reach, first = reach - step, reach >> 1, step
        step >>= 1
