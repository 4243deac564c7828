"""storage_rewrite: temporaries of the whole kernel share memory where their lives do not overlap.

allocate a; f(a); allocate b; g(a, b); allocate c; h(b, c)  -->  c lives where a did
"""

from __future__ import annotations

from ....base.arith import post_order
from ..nodes.relocate import Relocator
from ..nodes.stmt import Allocate, Block, Buffer, Load, PrimFunc, Stmt, Store
from ..nodes.visit import block, exprs, statements


def storage_rewrite(func: PrimFunc) -> PrimFunc:
    """The function with fewer temporaries; only those at the root, of constant size, are shared."""
    buffers, steps = _steps(func.body)
    if len(buffers) < 2:
        return func
    moved = _assign(buffers, [_accessed(step) for step in steps])
    if not moved:
        return func
    body = Relocator(moved).stmt(block(*steps))
    for buffer in reversed(buffers):
        if buffer not in moved:
            body = Allocate(buffer, body)
    return func.with_body(body)


def _steps(body: Stmt) -> tuple[list[Buffer], list[Stmt]]:
    """The temporaries at the root, and the statements that run one after the other."""
    buffers: list[Buffer] = []
    steps: list[Stmt] = []
    stack = [body]
    while stack:
        s = stack.pop()
        if isinstance(s, Block):
            stack.extend(reversed(s.body))
        elif isinstance(s, Allocate):
            buffers.append(s.buffer)
            stack.append(s.body)
        else:
            steps.append(s)
    return buffers, steps


def _accessed(step: Stmt) -> set[Buffer]:
    found: set[Buffer] = set()
    for s in statements(step):
        if isinstance(s, Store):
            found.add(s.buffer)
        for e in exprs(s):
            found.update(node.buffer for node in post_order(e) if isinstance(node, Load))
    return found


def _assign(buffers: list[Buffer], accessed: list[set[Buffer]]) -> dict[Buffer, Buffer]:
    """Buffers that move into another of the same kind and at least their size, which is dead by then."""
    first = {b: next((n for n, used in enumerate(accessed) if b in used), 0) for b in buffers}
    last = {b: max((n for n, used in enumerate(accessed) if b in used), default=-1) for b in buffers}
    free_after: dict[Buffer, int] = {}
    moved: dict[Buffer, Buffer] = {}
    for buffer in sorted(buffers, key=lambda b: first[b]):
        size = buffer.shape[0]
        fitting = [
            (host.shape[0], number, host)
            for number, (host, end) in enumerate(free_after.items())
            if end < first[buffer]
            and host.dtype is buffer.dtype
            and host.scope == buffer.scope
            and isinstance(size, int)
            and isinstance(host.shape[0], int)
            and host.shape[0] >= size
        ]
        host = min(fitting)[2] if fitting else buffer
        if host is not buffer:
            moved[buffer] = host
        free_after[host] = last[buffer]
    return moved
