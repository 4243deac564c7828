"""Arithmetic of float16 and bfloat16 in float32: expressions round once, where a tensor element is defined."""

from __future__ import annotations

from ..arith import (
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Select,
    bitcast,
    call,
    cast,
    const,
    post_order,
    select,
)
from ..arith.expr import Not
from ..vocabulary import BOOL, FLOAT32, PREDICATE_INTRINSICS
from .tensor import Reduce


def widen_half(e: Expr, dtype: str) -> Expr:
    """`e` with all arithmetic of halves (float16, bfloat16) in float32, and the root cast to `dtype`.

    Reads of halves are widened, operations and reductions run in float32; an explicit cast to a half rounds.
    """
    nodes = post_order(e)
    if not any(node.dtype.is_half for node in nodes):
        return cast(e, dtype)
    done: dict[int, Expr] = {}
    for node in nodes:
        children = [done[id(c)] for c in node.children()]
        done[id(node)] = _widened(node, children) if _touches_half(node) else _kept(node, children)
    return cast(done[id(e)], dtype)


def _touches_half(node: Expr) -> bool:
    return node.dtype.is_half or any(c.dtype.is_half for c in node.children())


def _kept(node: Expr, children: list[Expr]) -> Expr:
    if all(a is b for a, b in zip(node.children(), children, strict=True)):
        return node
    return node.rebuild(children)


def _widened(node: Expr, children: list[Expr]) -> Expr:
    """The node in float32, over children of which those that were halves are float32 already."""
    if isinstance(node, Const):
        return const(node.value, FLOAT32)
    if isinstance(node, Cast):
        if node.dtype.is_half:
            return cast(cast(children[0], node.dtype), FLOAT32)
        return cast(children[0], node.dtype)
    if isinstance(node, Bitcast):
        if node.dtype.is_half:
            return cast(_kept(node, children), FLOAT32)
        return bitcast(cast(children[0], node.children()[0].dtype), node.dtype)
    if isinstance(node, Binary):
        return Binary(FLOAT32, node.op, children[0], children[1])
    if isinstance(node, Compare):
        return Compare(BOOL, node.op, children[0], children[1])
    if isinstance(node, Select):
        return select(*children)
    if isinstance(node, Call):
        made = call(node.name, *children)
        assert (made.dtype is BOOL) == (node.name in PREDICATE_INTRINSICS)
        return made
    if isinstance(node, Reduce):
        made = node.rebuild(children)
        assert isinstance(made, Reduce)
        dtype = FLOAT32 if node.dtype.is_half else node.dtype
        return Reduce(dtype, made.combiner, made.axes, made.value, made.condition, made.default)
    assert not isinstance(node, Not)
    return cast(_kept(node, children), FLOAT32)  # a read, a table, a var
