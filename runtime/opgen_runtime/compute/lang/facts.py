"""What a recurrence says of its values: bounds of running counts, used to prove accesses.

A tensor `c[t] = (c[t-1] if t > 0 else c0) + d` with an increment `low <= d <= high` has
`c0 + (t+1)*low <= c[t] <= c0 + (t+1)*high` by induction, and `c[t] - d` is the value before the step, which lies
in the same bounds for t.  Where d at 0 is a number, c[0] is one, and the bounds count from there.  A count of hits can
thus be used as a position: under the guard that `t` is a hit, d is 1.  The guard may have any form: a condition of d
that stands among the guards, written the same, is taken as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...base import arith
from ...base.arith import structural_equal, structural_hash
from ...base.arith.expr import Const, Expr, Not, Select, Var
from ...base.vocabulary import BOOL, INDEX, dataclass
from ..te.tensor import IterVar, Read, Tensor
from .scope import bound, current


@dataclass(frozen=True, slots=True)
class Recurrence:
    """`c[.., t, ..] = (c[.., t-1, ..] if t > 0 else first) + increment`."""

    axes: tuple[IterVar, ...]
    position: int  # of t
    first: int
    increment: Expr


def facts_of_read(read: Read, recurrence: Recurrence) -> tuple[Expr, ...]:
    """Conditions that hold of the value of `read`, an element of the recurrence."""
    with bound(recurrence.axes), current().analysis() as analyzer:
        span = analyzer.interval(recurrence.increment)
        begin = {recurrence.axes[recurrence.position].var: arith.const(0, INDEX)}
        start = analyzer.interval(arith.substitute(recurrence.increment, begin))
    if span.lo is None or span.hi is None or max(abs(span.lo), abs(span.hi)) > 1 << 31:
        return ()
    start = start.meet(span)
    assert start.lo is not None
    assert start.hi is not None
    values = {axis.var: index for axis, index in zip(recurrence.axes, read.indices, strict=True)}
    time = read.indices[recurrence.position]
    increment = _under_guards(arith.substitute(recurrence.increment, values))
    before = arith.sub(read, increment)
    first = recurrence.first
    return (
        arith.le(arith.add(arith.mul(time, span.lo), first + start.lo), read),
        arith.le(read, arith.add(arith.mul(time, span.hi), first + start.hi)),
        arith.le(arith.add(arith.mul(time, span.lo), first), before),
        arith.le(before, arith.add(arith.mul(time, span.hi), first)),
    )


def _under_guards(e: Expr) -> Expr:
    """`e` with every condition that is the same expression as a guard of this place, or its opposite, decided."""
    known: dict[int, list[tuple[Expr, bool]]] = {}
    for guard in current().guards:
        for condition, truth in _conjuncts(guard, True):
            known.setdefault(structural_hash(condition), []).append((condition, truth))

    def visit(node: Expr) -> Expr | None:
        if node.dtype != BOOL or isinstance(node, Const):
            return None
        same = known.get(structural_hash(node), ())
        found = next((truth for condition, truth in same if structural_equal(condition, node)), None)
        return None if found is None else arith.const(found, BOOL)

    return arith.rewrite(e, visit) if known else e


def _conjuncts(e: Expr, truth: bool) -> Iterator[tuple[Expr, bool]]:
    """The conditions, and whether they hold, that `e` being `truth` consists of; `e` itself among them."""
    if isinstance(e, Not):
        yield from _conjuncts(e.a, not truth)
        return
    yield e, truth
    if isinstance(e, arith.Binary) and e.op == ("and" if truth else "or"):
        yield from _conjuncts(e.a, truth)
        yield from _conjuncts(e.b, truth)
    elif isinstance(e, Select):  # `c and x` is `x if c else False`, `c or x` is `True if c else x`
        other = e.otherwise if truth else e.then
        if isinstance(other, Const) and other.value is not truth:
            yield from _conjuncts(e.condition, truth)
            yield from _conjuncts(e.then if truth else e.otherwise, truth)


def recurrence_of(axes: tuple[IterVar, ...], body: Expr, stand_in: Tensor) -> Recurrence | None:
    """The recurrence of a tensor whose own reads go to `stand_in`; None if `body` has another form."""
    if not body.dtype.is_int:
        return None
    for before, increment in _summands(body):
        found = _before(before, stand_in, axes)
        if found is not None and not _reads(increment, stand_in):
            position, first = found
            return Recurrence(axes, position, first, increment)
    return None


def _summands(body: Expr) -> tuple[tuple[Expr, Expr], ...]:
    if isinstance(body, arith.Binary) and body.op == "add":
        return (body.a, body.b), (body.b, body.a)
    return ()


def _before(value: Expr, stand_in: Tensor, axes: tuple[IterVar, ...]) -> tuple[int, int] | None:
    """The position of t and the first value, where `value` is `c[t-1] if t > 0 else first`."""
    if not isinstance(value, Select) or not isinstance(value.otherwise, Const):
        return None
    read, first = value.then, value.otherwise.value
    if not isinstance(read, Read) or read.tensor is not stand_in or not isinstance(first, int):
        return None
    moved = [
        k for k, (axis, index) in enumerate(zip(axes, read.indices, strict=True)) if index is not axis.var
    ]
    if len(moved) != 1:
        return None
    (position,) = moved
    var = axes[position].var
    analyzer = arith.Analyzer()
    analyzer.bind(var, 0, axes[position].extent)
    step = analyzer.simplify(arith.sub(read.indices[position], var))
    if not isinstance(step, Const) or step.value != -1 or not _is_after_first(value.condition, var, analyzer):
        return None
    return position, first


def _is_after_first(condition: Expr, var: Var, analyzer: arith.Analyzer) -> bool:
    """True if `condition` says just that `var` is not 0."""
    positive = arith.gt(var, 0)
    with analyzer.assume(condition):
        forwards = analyzer.prove(positive)
    with analyzer.assume(positive):
        return forwards and analyzer.prove(condition)


def _reads(expr: Expr, tensor: Tensor) -> bool:
    return any(isinstance(node, Read) and node.tensor is tensor for node in arith.post_order(expr))
