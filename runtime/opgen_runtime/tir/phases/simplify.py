"""canonical_simplify and simplify: canonical index arithmetic and conditions, with what loops and guards imply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...arith import Analyzer, Binary, Compare, Const, Expr, Var, post_order
from ..folding import rebuild_folding
from ..stmt import For, If, Load, Prefetch, PrimFunc, Ramp, Splat, Stmt, Store
from ..visit import StmtMutator


def canonical_simplify(func: PrimFunc) -> PrimFunc:
    """Indices as canonical linear sums (so that `f // n * n + f % n` is `f`)."""
    return replace(func, body=_Simplify(lambda _: False).stmt(func.body))


def simplify(func: PrimFunc) -> PrimFunc:
    """Indices and conditions once more, now that loops are split and unrolled; sums of products stay as they are."""
    return replace(func, body=_Simplify(_is_settled).stmt(func.body))


class _Simplify(StmtMutator):
    def __init__(self, is_settled: Callable[[Expr], bool]) -> None:
        self.is_settled = is_settled  # what is not worth another look
        self.analyzer = Analyzer()
        self.done: dict[int, Expr] = {}  # by expression, while the assumptions hold
        self.alive: list[Expr] = []

    def loop(self, s: For) -> Stmt:
        minimum, extent = self.index(s.minimum), self.index(s.extent)
        saved, self.done = self.done, {}
        with self.analyzer.scope():
            self.analyzer.bind(s.var, minimum, extent)
            body = self.stmt(s.body)
        self.done = saved
        if minimum is s.minimum and extent is s.extent and body is s.body:
            return s
        return For(s.var, minimum, extent, s.kind, body)

    def branch(self, s: If) -> Stmt:
        condition = self.expr(s.condition)
        if any(isinstance(node, Load) for node in post_order(condition)):
            then = self.stmt(s.then)  # what is stored below may change the condition
        else:
            saved, self.done = self.done, {}
            with self.analyzer.assume(condition):
                then = self.stmt(s.then)
            self.done = saved
        otherwise = None if s.otherwise is None else self.stmt(s.otherwise)
        return If(condition, then, otherwise)

    def store(self, s: Store) -> Stmt:
        indices = tuple(self.index(i) for i in s.indices)
        value, mask = self.expr(s.value), self.optional(s.mask)
        if value is s.value and mask is s.mask and indices[0] is s.indices[0]:
            return s
        return Store(s.buffer, indices, value, mask)

    def prefetch(self, s: Prefetch) -> Stmt:
        return Prefetch(s.buffer, tuple(self.index(i) for i in s.indices), s.shape)

    def index(self, e: Expr) -> Expr:
        """An index in canonical form; of a ramp, its base."""
        found = self.done.get(id(e))
        if found is None:
            if isinstance(e, Ramp):
                found = Ramp(e.dtype, self.index(e.base), self.index(e.stride), e.lanes)
                if found.base is e.base and found.stride is e.stride:
                    found = e
            elif self.is_settled(e):
                found = e
            elif _is_scalar_index(e):
                found = self.analyzer.simplify(e)
            else:
                found = self.expr(e)
            self.done[id(e)] = found
            self.alive.append(e)
        return found

    def expr(self, e: Expr) -> Expr:
        """Indices of loads and integer comparisons inside `e` simplified; the arithmetic of values stays."""
        done: dict[int, Expr] = {}
        for node in post_order(e):
            old = node.children()
            if not old:
                done[id(node)] = node
            elif isinstance(node, Load):
                index = self.index(done[id(node.indices[0])])
                mask = None if node.mask is None else done[id(node.mask)]
                same = index is node.indices[0] and mask is node.mask
                done[id(node)] = node if same else Load(node.dtype, node.buffer, (index,), mask)
            else:
                fresh = [done[id(child)] for child in old]
                changed = any(a is not b for a, b in zip(fresh, old, strict=True))
                made = rebuild_folding(node, fresh) if changed else node
                if isinstance(made, Compare) and made.a.dtype.is_int and _is_scalar_index(made):
                    made = self.index(made)
                done[id(node)] = made
        return done[id(e)]


def _is_scalar_index(e: Expr) -> bool:
    """Whether `e` is scalar index arithmetic, without loads, vectors and floats."""
    return not any(isinstance(node, Load | Ramp | Splat) or node.dtype.is_float for node in post_order(e))


def _is_settled(e: Expr) -> bool:
    """Whether `e` is made of sums and products of vars and constants, and of quotients and remainders of vars."""
    stack = [e]
    while stack:
        node = stack.pop()
        if isinstance(node, Const | Var):
            continue
        if not isinstance(node, Binary):
            return False
        if node.op in ("floordiv", "floormod"):
            if not (isinstance(node.a, Var) and isinstance(node.b, Const)):
                return False
        elif node.op in ("add", "sub", "mul"):
            stack += (node.a, node.b)
        else:
            return False
    return True
