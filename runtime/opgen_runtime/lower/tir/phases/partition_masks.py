"""Vectors of which a choice lets all lanes in are specialised on, outside of the loops that do not decide it.

for k: vectorized for l in range(16): y[k*16 + l] = x[k + l*64] if o*16 + l < n else 0.0
-->
if o*16 + 15 < n: for k: vectorized for l in range(16): y[k*16 + l] = x[k + l*64]
else: if o*16 < n: <as above>
      else: for k: vectorized for l in range(16): y[k*16 + l] = 0.0

So it is done where elements are read apart from each other: with a mask they are gathered one by one, without one
squares of them are read in rows and transposed in registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....base.arith import Analyzer, Compare, Const, Expr, Select, Var, const, lt, post_order
from ....base.arith import polynomial as poly
from ....base.vocabulary import INDEX, dataclass
from ...schedule import ForKind
from ..nodes.folding import fold_substitute
from ..nodes.relocate import fresh_buffers
from ..nodes.stmt import For, If, Load, PrimFunc, Stmt, Store
from ..nodes.visit import StmtMutator, statements, trips


@dataclass(frozen=True, slots=True)
class _Choice:
    """The choice that a store makes lane by lane; `whole`: whether it lets all lanes in, `some`: whether the first."""

    store: Store
    whole: Expr
    some: Expr


def partition_masks(func: PrimFunc) -> PrimFunc:
    """The function in which vectors of elements that lie apart have no mask where all lanes are let in."""
    return func.with_body(_Masks().stmt(func.body))


class _Masks(StmtMutator):
    """A statement in which choices among elements that lie apart are made once for whole vectors."""

    def loop(self, s: For) -> Stmt:
        choice = next(_choices(s), None) if s.kind is ForKind.SERIAL else None
        if choice is None:
            return super().loop(s)
        value = choice.store.value
        assert isinstance(value, Select)
        whole, none = (_Decided(choice.store, part).stmt(s) for part in (value.then, value.otherwise))
        rest = If(choice.some, fresh_buffers(s), fresh_buffers(none))
        return If(choice.whole, self.stmt(whole), rest)


def _choices(s: For) -> Iterator[_Choice]:
    """The choices below a loop that only lanes and what is around the loop decide."""
    inside = {s.var: s, **{each.var: each for each in statements(s.body) if isinstance(each, For)}}
    analyzer = Analyzer()
    for store in statements(s.body):
        if not isinstance(store, Store) or store.mask is not None:
            continue
        value = store.value
        if not isinstance(value, Select) or not isinstance(value.otherwise, Const):
            continue
        condition = value.condition
        if not isinstance(condition, Compare) or condition.op != "lt" or not condition.a.dtype.is_int:
            continue
        factors, entangled = analyzer.coefficients(condition.a - condition.b)
        moving = [var for var in factors if var in inside]
        if len(moving) != 1 or not entangled.isdisjoint(inside):
            continue
        (lane,) = moving
        slope, lanes = poly.as_constant(factors[lane]), trips(inside[lane])
        if inside[lane].kind is not ForKind.VECTORIZED or slope is None or slope <= 0 or lanes is None:
            continue
        if any(_is_transposed(node, lane, inside, analyzer) for node in post_order(value.then)):
            ends = [{lane: const(end, INDEX)} for end in (lanes - 1, 0)]
            whole, some = (
                lt(*[analyzer.simplify(fold_substitute(part, end)) for part in (condition.a, condition.b)])
                for end in ends
            )
            yield _Choice(store, whole, some)


def _is_transposed(node: Expr, lane: Var, inside: dict[Var, For], analyzer: Analyzer) -> bool:
    """Whether an element is read that lies apart from that of the next lane, and beside that of another iteration."""
    if not isinstance(node, Load):
        return False
    factors, entangled = analyzer.coefficients(node.indices[0])
    steps = {var: poly.as_constant(factor) for var, factor in factors.items() if var in inside}
    if lane not in steps or not entangled.isdisjoint(inside):
        return False
    return steps.pop(lane) != 1 and 1 in steps.values()


class _Decided(StmtMutator):
    """A statement of which a store stores another value."""

    def __init__(self, store: Store, value: Expr) -> None:
        self.known, self.value = store, value

    def store(self, s: Store) -> Stmt:
        return replace(s, value=self.value) if s is self.known else super().store(s)
