"""What is known of the integers that computed tensors hold: an `argmin`, a `clip` or a `%` keeps its range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ...base import arith
from ...base.arith import Interval
from ...base.arith.expr import Expr, Var
from ...base.vocabulary import INDEX
from .access import analysis
from .guards import Guards
from .tensor import Compute, IterVar, Read, Scan, Sort, Tensor

_READS: Final = 16  # reads of one index that are looked into, those of what they read included
_NODES: Final = 64  # of a definition that is taken as it stands

Body = tuple[tuple[IterVar, ...], Expr]


def body_of(tensor: Tensor) -> Body | None:
    """The axes, and the expression of the value there; None where a tensor is given, updated or made by Python."""
    if isinstance(tensor.op, Compute):
        return tensor.op.axes, tensor.op.body
    if isinstance(tensor.op, Scan):
        state = next(state for state in tensor.op.states if state.tensor is tensor)
        return None if state.body is None else (state.axes, state.body)
    return None


def reads_of(e: Expr) -> Iterator[tuple[Read, Expr | None]]:
    """The integers that `e` reads, each with the condition under which it does (None: always).

    Of one that is read under a condition nothing may be said elsewhere: its indices may be outside there.  What is read
    inside a reduction depends on variables that mean nothing outside of it.
    """
    order = arith.post_order(e)
    if not any(isinstance(node, Read) for node in order):
        return
    guards = Guards(order)
    for node in order:
        if isinstance(node, Read) and node.dtype.is_int and guards.has(node):
            guard = guards.of(node)
            yield node, None if guard is None else guard.holds


def under(condition: Expr | None, fact: Expr) -> Expr:
    """That `fact` holds where `condition` does."""
    return fact if condition is None else arith.logical_or(arith.logical_not(condition), fact)


class Values:
    """Facts of the values that are read from tensors, for proofs of accesses.

    `body` gives the axes and the expression of a tensor whose elements are what that says, else None.
    """

    def __init__(self, body: Callable[[Tensor], Body | None] = body_of) -> None:
        self._body = body
        self._spans: dict[Tensor, Interval] = {}

    def span(self, tensor: Tensor) -> Interval:
        """An interval that holds every element of `tensor`."""
        found = self._spans.get(tensor)
        if found is None:
            self._spans[tensor] = Interval()  # of itself, while it is looked at
            found = self._spans[tensor] = self._span(tensor)
        return found

    def _span(self, tensor: Tensor) -> Interval:
        body = self._body(tensor) if tensor.dtype.is_int else None
        if body is None:
            return Interval()
        axes, value = body
        with analysis({axis.var: axis.extent for axis in axes}, self.spans(value)) as analyzer:
            return analyzer.interval(value)

    def spans(self, e: Expr) -> tuple[Expr, ...]:
        """In what intervals the values lie that `e` reads."""
        return tuple(under(c, fact) for read, c in reads_of(e) for fact in self._within(read))

    def _within(self, read: Read) -> Iterator[Expr]:
        op = read.tensor.op
        if isinstance(op, Sort) and op.positions:
            yield arith.ge(read, 0)
            yield arith.lt(read, arith.cast(arith.const(0, INDEX) + op.source.shape[op.axis], read.dtype))
            return
        span, dtype = self.span(read.tensor), read.dtype
        if span.lo is not None and span.lo > dtype.lowest:
            yield arith.le(arith.const(span.lo, dtype), read)
        if span.hi is not None and span.hi < dtype.highest:
            yield arith.le(read, arith.const(span.hi, dtype))

    def equations(self, e: Expr) -> tuple[Expr, ...]:
        """What is computed there, for the values that `e` reads and for those that these are made of, which come first:
        what is known of parts may show that the whole does not wrap."""
        found: list[tuple[Expr, ...]] = []
        waiting = list(reads_of(e))
        for read, condition in waiting:  # grows on the way
            body = self._body(read.tensor)
            if body is None or len(arith.post_order(body[1])) > _NODES:
                continue
            at: dict[Var, Expr] = {
                axis.var: arith.cast(index, INDEX) for axis, index in zip(body[0], read.indices, strict=True)
            }
            value = arith.substitute(body[1], at)
            facts = (*self._within(read), arith.eq(read, value))
            found.append(tuple(under(condition, fact) for fact in facts))
            if len(found) == _READS:
                break
            for inner, own in reads_of(value):
                both = own if condition is None or own is None else arith.select(condition, own, False)
                waiting.append((inner, condition if own is None else both))
        return tuple(fact for facts in reversed(found) for fact in facts)
