"""loop_fusion: loops over the same range that run one after the other step by step become one.

for i in range(n): c[i] = c[i - 1] + x[i]      -->  for i in range(n): c[i] = c[i - 1] + x[i]
for j in range(n): out[c[j]] = x[j]                                    out[c[i]] = x[i]

Only loops that no vector can run: their steps wait for the one before, or store where data say.  Of what an earlier one
stores, a later one may read what is stored by the same step or before; nothing else may touch what the other stores.
What both read is then read once, what one stores for the other stays in a register, and branches on the same data are
foreseen, or not, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....base.arith import Analyzer, Const, Expr, Var, free_vars, identical, post_order, structural_equal
from ..nodes.folding import fold_substitute
from ..nodes.stmt import Block, Buffer, For, ForKind, If, LetStmt, Load, PrimFunc, Stmt, Store
from ..nodes.visit import StmtMutator, block, exprs, map_exprs, statements


def loop_fusion(func: PrimFunc) -> PrimFunc:
    """The function with one loop where several went step by step over the same range."""
    body = _Fusion().stmt(func.body)
    return func if body is func.body else replace(func, body=body)


class _Fusion(StmtMutator):
    def block(self, s: Block) -> Stmt:
        parts: list[Stmt] = []
        for part in s.body:
            joined = _joined(parts[-1], part) if parts else None
            if joined is None:
                parts.append(self.stmt(part))
            else:
                parts[-1] = joined
        if identical(parts, s.body):
            return s
        return block(*parts)


def _joined(first: Stmt, second: Stmt) -> For | None:
    """One loop for two; None where they must stay apart, or could run in vectors."""
    if not isinstance(first, For) or not isinstance(second, For):
        return None
    if first.kind is not ForKind.SERIAL or second.kind is not ForKind.SERIAL:
        return None
    same = structural_equal(first.minimum, second.minimum) and structural_equal(first.extent, second.extent)
    if not same or not _is_sequential(first) or not _is_sequential(second):
        return None
    moved = map_exprs(second.body, lambda e: fold_substitute(e, {second.var: first.var}))
    if not _keeps_order(first.body, moved, first.var):
        return None
    return replace(first, body=block(first.body, moved))


def _is_sequential(loop: For) -> bool:
    """Whether a loop has stores alone, and reads what it stores or stores where data say.

    One that ends where its steps have nothing more to do stays by itself.
    """
    if isinstance(loop.body, If) and loop.var not in free_vars(loop.body.condition):
        return False
    inside = list(statements(loop.body))
    if not all(isinstance(s, Store | If | Block | LetStmt) for s in inside):
        return False
    stores = [s for s in inside if isinstance(s, Store)]
    stored, loaded = {s.buffer for s in stores}, {load.buffer for load in _loads(loop.body)}
    by_data = any(isinstance(node, Load) for s in stores for index in s.indices for node in post_order(index))
    return by_data or not stored.isdisjoint(loaded)


def _keeps_order(first: Stmt, second: Stmt, var: Var) -> bool:
    """Whether each step of the second may run before the later steps of the first."""
    stored, then_stored = _stores(first), _stores(second)
    if not then_stored.keys().isdisjoint({*stored, *(load.buffer for load in _loads(first))}):
        return False
    return all(
        _is_stored_before(load, stored[load.buffer], var) for load in _loads(second) if load.buffer in stored
    )


def _is_stored_before(load: Load, stores: list[Store], var: Var) -> bool:
    """Whether a step reads what it, or a step before it, has stored, and later ones store elsewhere."""
    analyzer = Analyzer()
    for store in stores:
        (at,), (index,) = load.indices, store.indices
        start = analyzer.simplify(index - var)
        behind = analyzer.simplify(at - index)
        if var in free_vars(start) or any(isinstance(node, Load) for node in post_order(start)):
            return False  # it does not move by one with the steps
        if not isinstance(behind, Const) or behind.value > 0:
            return False
    return True


def _stores(s: Stmt) -> dict[Buffer, list[Store]]:
    found: dict[Buffer, list[Store]] = {}
    for each in statements(s):
        if isinstance(each, Store):
            found.setdefault(each.buffer, []).append(each)
    return found


def _loads(s: Stmt) -> Iterator[Load]:
    seen: dict[int, Expr] = {}
    for each in statements(s):
        for e in exprs(each):
            for node in post_order(e, seen):
                seen[id(node)] = node
                if isinstance(node, Load):
                    yield node
