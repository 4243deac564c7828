"""Structural equality and hashing of expressions."""

from __future__ import annotations

import struct
from dataclasses import fields
from typing import Final

from .expr import AnyDim, Const, Expr, Var
from .visit import bound_vars, identical, post_order

_FIELDS: Final[dict[type[Expr], tuple[str, ...]]] = {}


def _names(node: Expr) -> tuple[str, ...]:
    cls = type(node)
    names = _FIELDS.get(cls)
    if names is None:
        names = _FIELDS[cls] = tuple(f.name for f in fields(cls) if f.name != "dtype")
    return names


def label(node: Expr) -> tuple[object, ...]:
    """What a node is, apart from its children and the vars that it binds.

    Things of higher layers (tensors, buffers) count by identity; floats by their bits.
    """
    if isinstance(node, Const):
        value = struct.pack("<d", node.value) if isinstance(node.value, float) else node.value
        return (Const, node.dtype, value)
    children = node.children()
    child_ids = {id(c) for c in children}
    parts: list[object] = [type(node), node.dtype, len(children)]
    bound = len(bound_vars(node))
    parts.append(bound)
    for name in _names(node):
        value = getattr(node, name)
        if value is None or id(value) in child_ids:
            parts.append(None if value is None else "child")
        elif isinstance(value, (str, int, float)):
            parts.append(value)
        elif isinstance(value, tuple):
            parts.append(_tuple_label(value, child_ids, bool(bound)))
        else:
            parts.append(id(value))
    return tuple(parts)


def _tuple_label(value: tuple[object, ...], child_ids: set[int], binds: bool) -> tuple[object, ...]:
    found: list[object] = []
    for item in value:
        if id(item) in child_ids:
            found.append("child")
        elif isinstance(item, (str, int)):
            found.append(item)
        elif isinstance(item, float):
            found.append(struct.pack("<d", item))
        else:
            # An axis: its var is compared by the binding, its extent if constant.
            extent = getattr(item, "extent", None)
            found.append(extent if binds and isinstance(extent, int) else None if binds else id(item))
    return tuple(found)


def structural_equal(a: Expr, b: Expr, map_vars: bool = False) -> bool:
    """The same expression.  With `map_vars`, up to a one-to-one renaming of its vars; else vars by identity.

    Vars bound inside (axes of reductions) are always compared up to renaming.  Floats compare by their bits.
    """
    forward: dict[Var, Var] = {}
    backward: dict[Var, Var] = {}
    seen: set[tuple[int, int]] = set()
    stack: list[tuple[Expr, Expr]] = [(a, b)]
    while stack:
        x, y = stack.pop()
        if (x is y and not map_vars and not forward) or (id(x), id(y)) in seen:
            continue
        seen.add((id(x), id(y)))
        if isinstance(x, Var) and isinstance(y, Var):
            if not _same_var(x, y, forward, backward, map_vars):
                return False
            continue
        if isinstance(x, AnyDim) or isinstance(y, AnyDim):
            return False
        if label(x) != label(y):
            return False
        pairs = list(zip(bound_vars(x), bound_vars(y), strict=True))
        forward.update(pairs)
        backward.update((q, p) for p, q in pairs)
        stack.extend(reversed(list(zip(x.children(), y.children(), strict=True))))
    return True


def _same_var(x: Var, y: Var, forward: dict[Var, Var], backward: dict[Var, Var], map_vars: bool) -> bool:
    if x in forward or y in backward:
        return forward.get(x) is y and backward.get(y) is x
    if map_vars:
        if x.dtype is not y.dtype or (x.size, x.least, x.most) != (y.size, y.least, y.most):
            return False
        forward[x], backward[y] = y, x
        return True
    return x is y


def structural_hash(e: Expr) -> int:
    """A hash that is equal for expressions that are `structural_equal`, with or without `map_vars`.

    Vars count by dtype only.  Not stable between processes.
    """
    hashes: dict[int, int] = {}
    for node in post_order(e):
        if isinstance(node, Var):
            hashes[id(node)] = hash((Var, node.dtype))
        else:
            hashes[id(node)] = hash((label(node), *(hashes[id(c)] for c in node.children())))
    return hashes[id(e)]


def shared_parts(e: Expr) -> Expr:
    """`e` with one node for parts that are structurally equal, vars by identity; for what binds no vars."""
    nodes: dict[tuple[object, ...], Expr] = {}
    done: dict[int, Expr] = {}
    for node in post_order(e):
        old = node.children()
        fresh = [done[id(child)] for child in old]
        made = node if identical(fresh, old) else node.rebuild(fresh)
        key = (id(node),) if isinstance(node, Var | AnyDim) else (label(made), *map(id, fresh))
        done[id(node)] = nodes.setdefault(key, made)
    return done[id(e)]


class ValueNumbers:
    """Numbers of expressions: the same for those that are `structural_equal`, vars by identity.

    For expressions that bind no vars.  A node that was numbered once is not walked again.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._kept: list[Expr] = []  # whose id stands in a key
        self._found: dict[tuple[object, ...], int] = {}

    def of(self, e: Expr) -> int:
        """The number of `e`."""
        numbers = self._numbers
        if id(e) in numbers:
            return numbers[id(e)]
        stack: list[Expr] = [e]
        while stack:
            node = stack[-1]
            if id(node) in numbers:
                stack.pop()
                continue
            pending = [child for child in node.children() if id(child) not in numbers]
            if pending:
                stack.extend(pending)
                continue
            stack.pop()
            key: tuple[object, ...] = (id(node),)
            if not isinstance(node, (Var, AnyDim)):
                key = (label(node), *(numbers[id(child)] for child in node.children()))
            self._kept.append(node)
            numbers[id(node)] = self._found.setdefault(key, len(self._found))
        return numbers[id(e)]
