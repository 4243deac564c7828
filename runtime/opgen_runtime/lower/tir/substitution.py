"""Substitution of vars, through the extents of reduce axes too."""

from __future__ import annotations

from collections.abc import Mapping

from ...base.arith import Expr, Var
from ..schedule.inline import order_of, parts, with_parts


def substitute_all(e: Expr, values: Mapping[Var, Expr], renamed: Mapping[Var, Expr] | None = None) -> Expr:
    """`e` with vars replaced.  Reduce axes keep their vars unless `renamed` names others."""
    if isinstance(e, Var):
        return values.get(e, e)
    done: dict[int, Expr] = {}
    for node in order_of(e):
        if isinstance(node, Var):
            done[id(node)] = values.get(node, node)
            continue
        old = parts(node)
        fresh = [done[id(child)] for child in old]
        if any(a is not b for a, b in zip(fresh, old, strict=True)):
            node_made = with_parts(node, fresh, renamed or {})
            done[id(node)] = node_made
        else:
            done[id(node)] = node
    return done[id(e)]
