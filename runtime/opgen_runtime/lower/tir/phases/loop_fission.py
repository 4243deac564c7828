"""loop_fission: a loop whose iterations choose between many values by their number becomes a loop for each.

for i in range(30): x[i] = (a[i] if i < 4 else b[i - 4]) if i < 9 else c[i - 9]
-->
for i in range(4): x[i] = a[i]
for i in range(5): x[i + 4] = b[i]
for i in range(21): x[i + 9] = c[i]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ....base.arith import Cast, Compare, Const, Expr, Select, Var, const
from ..nodes.folding import fold_substitute
from ..nodes.nest import ZERO
from ..nodes.stmt import For, ForKind, PrimFunc, Stmt, Store
from ..nodes.visit import StmtMutator, block, map_exprs, trips

_MIN_CHOICES: Final = 8  # fewer values are chosen between in the loop
_MIN_PARALLEL_ITERATIONS: Final = 1 << 14  # iterations of a part that are worth sharing among threads


def loop_fission(func: PrimFunc) -> PrimFunc:
    """The function with one loop for each of the values that many iterations of a loop choose between."""
    return func.with_body(_Fission().stmt(func.body))


class _Fission(StmtMutator):
    def loop(self, s: For) -> Stmt:
        extent = trips(s)
        inner, store = _nest(s)
        if extent is None or store is None:
            return super().loop(s)
        parts = _parts(store.value, s.var, extent)
        if len(parts) < _MIN_CHOICES:
            return super().loop(s)
        return block(*[_part(s, inner, replace(store, value=value), low, high) for low, high, value in parts])


def _nest(s: For) -> tuple[list[For], Store | None]:
    """The loops directly inside a loop, and the only statement in them, where that is a store."""
    inner: list[For] = []
    body = s.body
    while isinstance(body, For):
        inner.append(body)
        body = body.body
    return inner, body if isinstance(body, Store) and body.mask is None else None


def _parts(value: Expr, var: Var, extent: int) -> list[tuple[int, int, Expr]]:
    """The ranges of iterations and what each of them takes, in order."""
    casts: list[Cast] = []
    while isinstance(value, Cast):
        casts.append(value)
        value = value.a
    found: list[tuple[int, int, Expr]] = []
    stack = [(0, extent, value)]
    while stack:
        low, high, e = stack.pop()
        end = _end(e, var)
        if end is None:
            for cast in reversed(casts):
                e = cast.rebuild((e,))
            if low < high:
                found.append((low, high, e))
            continue
        assert isinstance(e, Select)
        stack.append((max(low, end), high, e.otherwise))
        stack.append((low, min(high, end), e.then))
    return found


def _end(e: Expr, var: Var) -> int | None:
    """The number of the first iteration that does not take the first branch."""
    if not isinstance(e, Select) or not isinstance(e.condition, Compare):
        return None
    condition = e.condition
    if condition.op == "lt" and condition.a is var and isinstance(condition.b, Const):
        return int(condition.b.value)
    return None


def _part(s: For, inner: list[For], body: Stmt, low: int, high: int) -> Stmt:
    for nested in reversed(inner):
        body = replace(nested, body=body)
    if low:
        body = map_exprs(body, lambda e: fold_substitute(e, {s.var: s.var + low}))
    kind = s.kind if high - low >= _MIN_PARALLEL_ITERATIONS else ForKind.SERIAL
    return For(s.var, ZERO, const(high - low, s.var.dtype), kind, body)
