"""Canonical index arithmetic and conditions, with what loops and guards imply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ....base.arith import Analyzer, Binary, Compare, Const, Expr, Var, const, ge, identical, post_order
from ....base.arith.visit import Remembered
from ....base.vocabulary import BOOL, INDEX
from ..nodes.folding import rebuild_folding
from ..nodes.stmt import For, If, Load, Prefetch, Ramp, Splat, Stmt, Store
from ..nodes.visit import StmtMutator


def simplified_stmt(s: Stmt, again: bool = False) -> Stmt:
    """A statement with canonical indices; `again`: sums of products stay as they are."""
    return _Simplify(_Nodes(_is_canonical) if again else None).stmt(s)


def simplified(e: Expr, ranges: Mapping[Var, int | Expr]) -> Expr:
    """Canonical indices and decided conditions of one expression, where vars go from 0 to below their extents."""
    found = _Simplify(None)
    for var, extent in ranges.items():
        found.analyzer.bind(var, 0, extent)
    return found.expr(e)


class _Nodes(Remembered[bool]):
    """Whether a rule holds for all nodes of an expression; a node that was asked for once is not walked again."""

    def __init__(self, rule: Callable[[Expr], bool]) -> None:
        super().__init__()
        self._rule = rule

    def _parts(self, node: Expr) -> tuple[Expr, ...]:
        return node.children() if self._rule(node) else ()

    def _value(self, node: Expr) -> bool:
        return self._rule(node) and all([self[child] for child in node.children()])


class _Simplify(StmtMutator, Remembered[Expr]):
    """A rewritten statement; of expressions, each node's own, remembered while the assumptions hold."""

    def __init__(self, canonical: _Nodes | None) -> None:
        super().__init__()
        self.canonical = canonical  # what is not worth another look
        self.scalar = _Nodes(_is_scalar_index)
        self.analyzer = Analyzer()
        self.indices: dict[int, tuple[Expr, Expr]] = {}

    def loop(self, s: For) -> Stmt:
        minimum, extent = self.index(s.minimum), self.index(s.extent)
        with self.analyzer.scope(), self._afresh():
            self.analyzer.bind(s.var, minimum, extent)
            body = self.stmt(s.body)
        if minimum is s.minimum and extent is s.extent and body is s.body:
            return s
        return For(s.var, minimum, extent, s.kind, body)

    @contextmanager
    def _afresh(self) -> Iterator[None]:
        saved = self._known, self.indices
        self._known, self.indices = {}, {}
        yield
        self._known, self.indices = saved

    def branch(self, s: If) -> Stmt:
        condition = self.expr(s.condition)
        if any(isinstance(node, Load) for node in post_order(condition)):
            then = self.stmt(s.then)  # what is stored below may change the condition
        else:
            with self._afresh(), self.analyzer.assume(condition):
                then = self.stmt(s.then)
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
        return self._canonical(e if self.scalar.of(e) else self.expr(e))

    def _canonical(self, e: Expr) -> Expr:
        """An index whose loads and comparisons are simplified already."""
        kept = self.indices.get(id(e))
        if kept is not None:
            return kept[1]
        found = e
        if isinstance(e, Ramp):
            base, stride = self._canonical(e.base), self._canonical(e.stride)
            if base is not e.base or stride is not e.stride:
                found = Ramp(e.dtype, base, stride, e.lanes)
        elif self.scalar.of(e) and not (self.canonical is not None and self.canonical.of(e)):
            found = self.analyzer.simplify(e)
        self.indices[id(e)] = (e, found)
        return found

    def expr(self, e: Expr) -> Expr:
        """Indices of loads and integer comparisons inside `e` simplified; the arithmetic of values stays."""
        return self.of(e)

    def _value(self, node: Expr) -> Expr:
        old = node.children()
        if not old:
            return node
        fresh = [self[child] for child in old]
        if isinstance(node, Load):
            index = self._canonical(fresh[0])
            mask = None if node.mask is None else fresh[1]
            same = index is node.indices[0] and mask is node.mask
            return node if same else Load(node.dtype, node.buffer, (index,), mask)
        made = node if identical(fresh, old) else rebuild_folding(node, fresh)
        if isinstance(made, Compare) and made.a.dtype.is_int and self.scalar.of(made):
            return self._canonical(self._multiplied(made))
        return made

    def _multiplied(self, e: Compare) -> Compare:
        """Without the quotient that a comparison has: x // 3 < 5 is x < 15, x // n > 5 is x >= n * 6."""
        op, a, b = e.op, e.a, e.b
        if isinstance(a, Const):
            op, a, b = _MIRRORED.get(op, op), b, a
        divided = self._divided(a)
        if op not in _MIRRORED or not isinstance(b, Const) or divided is None:
            return e
        limit: Expr = const(int(b.value) + (op in ("le", "gt")), INDEX)
        while divided is not None:
            a, divisor = divided
            limit = limit * divisor
            divided = self._divided(a)
        return Compare(BOOL, "lt" if op in ("lt", "le") else "ge", a, limit)

    def _divided(self, e: Expr) -> tuple[Expr, Expr] | None:
        """What a quotient is of, and by which positive number."""
        if not isinstance(e, Binary) or e.op != "floordiv" or e.dtype is not INDEX:
            return None
        divisor = e.b
        positive = divisor.value > 0 if isinstance(divisor, Const) else self.analyzer.prove(ge(divisor, 1))
        return (e.a, divisor) if positive else None


_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _is_scalar_index(node: Expr) -> bool:
    """Whether a node may stand in scalar index arithmetic, without loads, vectors and floats."""
    return not isinstance(node, Load | Ramp | Splat) and not node.dtype.is_float


def _is_canonical(node: Expr) -> bool:
    """Whether a node is a sum or product, a quotient or remainder of a var, a var or a constant."""
    if isinstance(node, Const | Var):
        return True
    if not isinstance(node, Binary):
        return False
    if node.op in ("floordiv", "floormod"):
        return isinstance(node.a, Var) and isinstance(node.b, Const)
    return node.op in ("add", "sub", "mul")
