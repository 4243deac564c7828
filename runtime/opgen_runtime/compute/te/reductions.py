"""Reductions inside expressions: finding, guarding and replacing them."""

from __future__ import annotations

from ...base.arith import Const, Expr, const, holds, identical, post_order, select
from .tensor import IterVar, Read, Reduce


def outermost_reduces(order: list[Expr], body: Expr) -> list[Reduce]:
    """The reductions that are in no other one, children first."""
    if not any(isinstance(n, Reduce) for n in order):
        return []
    outside: set[int] = set()
    stack = [body]
    while stack:
        node = stack.pop()
        if id(node) in outside:
            continue
        outside.add(id(node))
        if not isinstance(node, Reduce):
            stack.extend(node.children())
    return [n for n in order if isinstance(n, Reduce) and id(n) in outside]


def _both(a: Expr | None, b: Expr) -> Expr:
    """`a and b`, where b is evaluated only if a holds."""
    return b if a is None else select(a, b, False)


def under(node: Reduce, guard: Expr) -> Reduce:
    """The reduction as it is where `guard` holds, empty elsewhere."""
    axes = tuple(
        IterVar(a.var, select(guard, a.extent, const(0, a.extent.dtype)), a.kind)
        if isinstance(a.extent, Expr) and holds(a.extent, Read)
        else a
        for a in node.axes
    )
    condition = guard if node.condition is None else _both(guard, node.condition)
    default = node.default
    if default is not None and not isinstance(default, Const):
        zero = const(False, default.dtype) if default.dtype == "bool" else const(0, default.dtype)
        default = select(guard, default, zero)
    return Reduce(node.dtype, node.combiner, axes, node.value, condition, default)


def swapped(e: Expr, done: dict[int, Expr], whole: bool = False) -> Expr:
    """`e` with the reductions in `done` replaced; those that `e` itself holds inside are not in it."""
    if not done:
        return e
    if whole and id(e) in done:
        return done[id(e)]
    fresh: dict[int, Expr] = dict(done)
    for node in post_order(e):
        if id(node) in fresh and (node is not e or whole):
            continue
        children = node.children()
        new = [fresh[id(c)] for c in children]
        fresh[id(node)] = node if identical(children, new) else node.rebuild(new)
    return fresh[id(e)]
