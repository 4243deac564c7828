"""Which outputs are written past the caches.

A store of a whole cache line that nobody reads soon need not fetch the line before: a kernel whose operands are more
than the caches hold then moves a third less.
"""

from __future__ import annotations

from typing import Final

from ...base.arith import post_order
from ...base.arith.expr import Binary, Const, Expr
from .stmt import Allocate, Buffer, Load, PrimFunc, Ramp, Stmt, Store
from .visit import exprs, statements

LINE: Final = 64  # bytes of a cache line, and of the widest vector
_LEAST_BYTES: Final = 24 << 20  # of all operands: what a last-level cache of today leaves to one kernel
_MOST_TEMPORARY: Final = 1 << 15  # bytes: the body is written twice, but its memory must not be


def streamed_outputs(func: PrimFunc) -> frozenset[Buffer]:
    """The outputs that are written in whole vectors and never read, of a kernel whose operands are large."""
    if sum(map(_bytes, (*func.inputs, *func.outputs))) < _LEAST_BYTES:
        return frozenset()
    written: set[Buffer] = set()
    read: set[Buffer] = set()
    for stmt in statements(func.body):
        if isinstance(stmt, Allocate) and _bytes(stmt.buffer) > _MOST_TEMPORARY:
            return frozenset()
        if isinstance(stmt, Store) and is_streamable(stmt):
            written.add(stmt.buffer)
        for e in exprs(stmt):
            read.update(node.buffer for node in post_order(e) if isinstance(node, Load))
    half = sum(map(_bytes, func.outputs)) // 2
    return frozenset(b for b in func.outputs if b in written - read and _bytes(b) >= half)


def is_streamable(stmt: Stmt) -> bool:
    """Whether a store writes one whole cache line; parts of lines cost more than they save."""
    if not isinstance(stmt, Store) or stmt.mask is not None or len(stmt.indices) != 1:
        return False
    index = stmt.indices[0]
    if not isinstance(index, Ramp) or not isinstance(index.stride, Const) or index.stride.value != 1:
        return False
    size = index.lanes * stmt.buffer.dtype.itemsize
    return size == LINE and is_multiple(index.base, index.lanes)


def is_multiple(e: Expr, n: int) -> bool:
    """Whether an index is seen to be a multiple of `n`, whatever its variables are."""
    if isinstance(e, Const):
        return int(e.value) % n == 0
    if not isinstance(e, Binary):
        return n == 1
    if e.op in ("add", "sub", "min", "max", "floormod"):
        return is_multiple(e.a, n) and is_multiple(e.b, n)
    return e.op == "mul" and (is_multiple(e.a, n) or is_multiple(e.b, n))


def _bytes(buffer: Buffer) -> int:
    """The size of a buffer; 0 where it is symbolic."""
    size = buffer.dtype.itemsize
    for extent in buffer.shape:
        value = extent.value if isinstance(extent, Const) else extent
        if not isinstance(value, int):
            return 0
        size *= value
    return size
