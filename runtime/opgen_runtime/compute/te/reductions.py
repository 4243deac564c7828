"""Reductions inside expressions: finding, guarding and replacing them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...base.arith import Binary, Const, Expr, Var, const, free_vars, holds, identical, post_order, select
from ...base.arith.expr import Dim
from .access import is_plainly_inside
from .tensor import IterVar, Read, Reduce, tensors_read


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


def where_wanted(node: Reduce, guard: Expr, axes: Collection[IterVar]) -> Reduce:
    """The reduction where `guard` holds; elsewhere its value is not used.

        sum(f(i, k) * g(j, k) for k), where c[i]  -->  sum((f(i, k) if c[i] else 0) * g(j, k) for k)

    Where elements of tensors tell which rows of a product are wanted, all are computed: many rows in one go take less
    than those that are wanted one by one.  `axes`: those of rows and columns, and of batches, which both factors have.
    Other reductions are `under` the guard.
    """
    product = node.value
    moving = {axis.var for axis in axes if axis.extent != 1}
    decided = moving.intersection(free_vars(guard))
    if node.combiner != "sum" or node.condition is not None or not decided or not tensors_read(guard):
        return under(node, guard)
    if not isinstance(product, Binary) or product.op != "mul" or not all(map(_is_known, node.axes)):
        return under(node, guard)
    extents: dict[Var, Dim] = {axis.var: axis.extent for axis in (*axes, *node.axes)}
    for rows, columns in ((product.a, product.b), (product.b, product.a)):
        mine, theirs = (set(free_vars(factor)) for factor in (rows, columns))
        if decided <= mine and decided - theirs and moving & theirs - mine and _is_inside(columns, extents):
            value = rows if _is_inside(rows, extents) else select(guard, rows, const(0, rows.dtype))
            pair = (value, columns) if rows is product.a else (columns, value)
            return Reduce(node.dtype, node.combiner, node.axes, product.rebuild(pair), None, node.default)
    return under(node, guard)


def _is_known(axis: IterVar) -> bool:
    """Whether no tensor tells how long an axis is."""
    return isinstance(axis.extent, int) or not holds(axis.extent, Read)


def _is_inside(e: Expr, extents: Mapping[Var, Dim]) -> bool:
    """Whether all that an expression reads is there, whatever holds."""
    return all(
        is_plainly_inside(index, extent, extents, ())
        for read in post_order(e)
        if isinstance(read, Read)
        for index, extent in zip(read.indices, read.tensor.shape, strict=True)
    )


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
