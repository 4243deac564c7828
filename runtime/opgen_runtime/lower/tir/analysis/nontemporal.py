"""Which outputs are written by non-temporal stores.

A store of a whole cache line that nobody reads soon need not fetch the line before: a kernel whose operands are more
than the caches hold then moves a third less.  Where the last-level cache still holds them, several threads write to it
much faster than to memory; one thread gains by it from a share of that cache on (`Machine.llc_operand`).
"""

from __future__ import annotations

from ....base.arith import post_order
from ....base.arith.expr import Binary, Const, Expr, Var
from ..nodes.stmt import Allocate, Buffer, For, ForKind, Load, PrimFunc, Ramp, Stmt, Store
from ..nodes.visit import children, exprs, statements


def nontemporal_outputs(func: PrimFunc) -> frozenset[Buffer]:
    """The outputs that are written in whole lines and never read, of a kernel whose operands are large."""
    total, machine = sum(map(_bytes, (*func.inputs, *func.outputs))), func.machine
    if total < machine.llc_operand or (total < machine.llc_shared and _is_shared(func.body)):
        return frozenset()
    written: set[Buffer] = set()
    read: set[Buffer] = set()
    for stmt in statements(func.body):
        if isinstance(stmt, Allocate) and _bytes(stmt.buffer) > machine.l1:
            return frozenset()  # the body is written twice, but its memory must not be
        if isinstance(stmt, Store) and is_nontemporal_candidate(stmt, machine.line):
            written.add(stmt.buffer)
        for e in exprs(stmt):
            read.update(node.buffer for node in post_order(e) if isinstance(node, Load))
    half = sum(map(_bytes, func.outputs)) // 2
    wanted = [b for b in func.outputs if b in written - read and _bytes(b) >= half]
    return frozenset(set(wanted) - _written_by_halves(func.body, machine.line)) if wanted else frozenset()


def is_nontemporal_candidate(stmt: Stmt, line: int) -> bool:
    """Whether a store writes a whole cache line, or a half of one, of which the other half must follow at once.

    A `line` has so many bytes.
    """
    if not isinstance(stmt, Store) or stmt.mask is not None or len(stmt.indices) != 1:
        return False
    index = stmt.indices[0]
    if not isinstance(index, Ramp) or not isinstance(index.stride, Const) or index.stride.value != 1:
        return False
    return _size(stmt) in (line, line // 2) and is_multiple(index.base, index.lanes)


def _is_shared(body: Stmt) -> bool:
    """Whether threads share a loop."""
    return any(isinstance(stmt, For) and stmt.kind is ForKind.PARALLEL for stmt in statements(body))


def _written_by_halves(body: Stmt, line: int) -> set[Buffer]:
    """The buffers of which halves of lines are stored in loops that do not go on with the next half.

    Such parts of lines cost more than they save.
    """
    found: set[Buffer] = set()
    stack: list[tuple[Stmt, For | None]] = [(body, None)]
    loops: dict[tuple[For | None, Buffer], list[Store]] = {}
    while stack:
        stmt, loop = stack.pop()
        if isinstance(stmt, Store) and is_nontemporal_candidate(stmt, line) and _size(stmt) < line:
            loops.setdefault((loop, stmt.buffer), []).append(stmt)
        inside = stmt if isinstance(stmt, For) else loop
        stack.extend([(each, inside) for each in children(stmt)])
    for (loop, buffer), stores in loops.items():
        for index in [store.indices[0] for store in stores]:
            assert isinstance(index, Ramp)
            if loop is None or _step(index.base, loop.var) != index.lanes * len(stores):
                found.add(buffer)
    return found


def _size(stmt: Store) -> int:
    """The bytes that a store of a vector writes."""
    (index,) = stmt.indices
    return (index.lanes if isinstance(index, Ramp) else 1) * stmt.buffer.dtype.itemsize


def _step(e: Expr, var: Var) -> int:
    """How far an index is seen to move with a variable, where it is not held at an end."""
    if not isinstance(e, Binary):
        return int(e is var)
    a, b = _step(e.a, var), _step(e.b, var)
    if e.op == "mul":
        return a * int(e.b.value) if isinstance(e.b, Const) else 0
    return {"add": a + b, "sub": a - b, "min": a or b, "max": a or b}.get(e.op, 0)


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
