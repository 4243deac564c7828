"""Choices on symbolic dims that make no difference: an operand's own dim, which is not repeated.

x[0 if n == 1 else i] for i in range(n)  -->  x[i]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ...base.arith import Analyzer, Expr, Select, eq, identical, post_order
from ...base.arith.visit import Sizes
from .tensor import IterVar, Reduce

Axes = frozenset[IterVar]


def without_idle_choices(body: Expr, axes: Sequence[IterVar]) -> Expr:
    """The body over `axes`, in which no choice on dims alone is left whose branches are equal wherever they count.

    Around what stands in a reduction its axes have elements; beside it they may have none.
    """
    order = post_order(body)
    known = Sizes()
    if not any(_is_choice_of_dims(node, known) for node in order):
        return body

    @cache
    def analyzer(inner: Axes) -> Analyzer:
        made = Analyzer()
        for axis in (*axes, *sorted(inner, key=numbers.__getitem__)):
            made.bind(axis.var, 0, axis.extent)
        return made

    reductions = [axis for node in order if isinstance(node, Reduce) for axis in node.axes]
    numbers = {axis: number for number, axis in enumerate(reductions)}
    around = _axes_around(order)
    done: dict[int, Expr] = {}
    for node in order:
        old = node.children()
        fresh = [done[id(child)] for child in old]
        made = node if identical(fresh, old) else node.rebuild(fresh)
        if isinstance(made, Select) and _is_choice_of_dims(made, known):
            made = _simplest(made, analyzer(around[id(node)]))
        done[id(node)] = made
    return done[id(body)]


def _is_choice_of_dims(node: Expr, known: Sizes) -> bool:
    return isinstance(node, Select) and node.dtype.is_int and known.of(node.condition)


def _axes_around(order: Sequence[Expr]) -> dict[int, Axes]:
    """The axes of the reductions around each node, on every way to it, by id; `order`: children first."""
    around: dict[int, Axes] = {id(order[-1]): frozenset()}
    for node in reversed(order):
        outer = around[id(node)]
        inner = outer.union(node.axes) if isinstance(node, Reduce) else outer
        for child in node.children():
            repeated = isinstance(node, Reduce) and (child is node.value or child is node.condition)
            mine = inner if repeated else outer
            around[id(child)] = around.get(id(child), mine) & mine
    return around


def _simplest(choice: Select, analyzer: Analyzer) -> Expr:
    """The branch that serves for both, or the choice."""
    for chosen, kept, truth in (
        (choice.then, choice.otherwise, True),
        (choice.otherwise, choice.then, False),
    ):
        with analyzer.suppose(choice.condition, truth):
            if analyzer.prove(eq(chosen, kept)):
                return kept
    return choice
