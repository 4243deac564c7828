"""Choices on symbolic dims that make no difference: an operand's own dim, which is not repeated.

x[0 if n == 1 else i] for i in range(n)  -->  x[i]
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base.arith import Analyzer, Expr, Select, eq, post_order, rewrite
from ...base.arith.visit import Sizes
from .tensor import IterVar, Reduce


def without_idle_choices(body: Expr, axes: Sequence[IterVar]) -> Expr:
    """The body over `axes`, in which no choice on dims alone is left whose branches are equal wherever they count."""
    order = post_order(body)
    known = Sizes()
    if not any(_is_choice_of_dims(node, known) for node in order):
        return body
    analyzer = Analyzer()
    for axis in (*axes, *[axis for node in order if isinstance(node, Reduce) for axis in node.axes]):
        analyzer.bind(axis.var, 0, axis.extent)
    return rewrite(body, lambda node: _other(node, known, analyzer))


def _is_choice_of_dims(node: Expr, known: Sizes) -> bool:
    return isinstance(node, Select) and node.dtype.is_int and known.of(node.condition)


def _other(node: Expr, known: Sizes, analyzer: Analyzer) -> Expr | None:
    """The branch that serves for both; None for any other node."""
    if not isinstance(node, Select) or not _is_choice_of_dims(node, known):
        return None
    for chosen, kept, truth in (
        (node.then, node.otherwise, True),
        (node.otherwise, node.then, False),
    ):
        with analyzer.suppose(node.condition, truth):
            if analyzer.prove(eq(chosen, kept)):
                return kept
    return None
