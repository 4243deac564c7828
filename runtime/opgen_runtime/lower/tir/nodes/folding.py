"""Rebuilding index arithmetic with constants folded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ....base.arith import (
    CONSTRUCTORS,
    Binary,
    Cast,
    Compare,
    Const,
    Expr,
    Select,
    Var,
    cast,
    post_order,
    select,
    substitute,
)
from .stmt import Splat


def rebuild_folding(node: Expr, fresh: Sequence[Expr]) -> Expr:
    """The node over other children; constants are folded where ints are computed or compared."""
    if isinstance(node, Binary | Compare):
        if node.a.dtype.is_int:
            return CONSTRUCTORS[node.op](fresh[0], fresh[1])
    elif isinstance(node, Select):
        condition = fresh[0].value if isinstance(fresh[0], Splat) else fresh[0]  # one choice for all lanes
        if isinstance(condition, Const):
            return select(condition, *fresh[1:])
    elif isinstance(node, Cast) and isinstance(fresh[0], Const):
        return cast(fresh[0], node.dtype)
    return node.rebuild(fresh)


def fold_substitute(e: Expr, values: Mapping[Var, Expr]) -> Expr:
    """`e` with vars replaced and what becomes constant folded."""
    return substitute(e, values, rebuild_folding)


class Template:
    """An expression of which instances are made for many values of a few vars; what does not depend on them is kept."""

    def __init__(self, e: Expr, variables: Collection[Var]) -> None:
        self.e = e
        varying: set[int] = set()
        self.order: list[tuple[Expr, tuple[Expr, ...]]] = []
        for node in post_order(e):
            children = node.children()
            if (
                node in variables
                if isinstance(node, Var)
                else any(id(child) in varying for child in children)
            ):
                varying.add(id(node))
                self.order.append((node, children))

    def instance(self, values: Mapping[Var, Expr]) -> Expr:
        """The expression with vars replaced."""
        done: dict[int, Expr] = {}
        for node, children in self.order:
            if isinstance(node, Var):
                done[id(node)] = values.get(node, node)
            else:
                done[id(node)] = rebuild_folding(node, [done.get(id(child), child) for child in children])
        return done.get(id(self.e), self.e)
