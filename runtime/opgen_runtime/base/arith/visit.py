"""Walks over expressions.  All are iterative, and a shared node is visited once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import is_
from typing import Final, Generic, TypeVar

from .expr import Const, Expr, Var

V = TypeVar("V")
Rebuild = Callable[[Expr, Sequence[Expr]], Expr]
_BOUND: Final[dict[type[Expr], Callable[[Expr], tuple[Var, ...]]]] = {}


def identical(a: Sequence[object], b: Sequence[object]) -> bool:
    """Whether two sequences hold the same objects in the same order."""
    return len(a) == len(b) and all(map(is_, a, b))


def register_binder(cls: type[Expr], bound: Callable[[Expr], tuple[Var, ...]]) -> None:
    """Tell that nodes of `cls` bind vars (e.g. the axes of a reduction), which are compared up to renaming."""
    _BOUND[cls] = bound


def binds(node: Expr) -> bool:
    """Whether a node binds vars."""
    return type(node) in _BOUND


def bound_vars(node: Expr) -> tuple[Var, ...]:
    """The vars that `node` itself binds."""
    return _BOUND[type(node)](node) if type(node) in _BOUND else ()


def post_order(e: Expr, known: Collection[int] = ()) -> list[Expr]:
    """Every node of `e` once, children before parents; without those `known` by id, and what only they use."""
    if id(e) in known:
        return []
    children = e.children()
    if not children:
        return [e]
    order: list[Expr] = []
    seen = {*known, id(e)}
    stack = [(e, iter(children))]  # the way down to a node, each with the children that are still to be seen
    while stack:
        node, left = stack[-1]
        for child in left:
            if id(child) in seen:
                continue
            seen.add(id(child))
            children = child.children()
            if children:
                stack.append((child, iter(children)))
                break
            order.append(child)
        else:
            order.append(node)
            stack.pop()
    return order


def holds(e: Expr, kind: type[Expr]) -> bool:
    """Whether a node of `e` is of this kind."""
    seen: set[int] = set()
    stack = [e]
    while stack:
        node = stack.pop()
        if isinstance(node, kind):
            return True
        children = node.children()
        if children and id(node) not in seen:
            seen.add(id(node))
            stack += children
    return False


def _has(e: Expr, wanted: Callable[[Expr], bool]) -> bool:
    """Whether a node of `e` is wanted; no further one is asked then."""
    seen: set[int] = set()
    stack = [e]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        if wanted(node):
            return True
        seen.add(id(node))
        stack += node.children()
    return False


class Remembered(ABC, Generic[V]):
    """A value for each node of expressions, found once a node, however many of them are asked about.

    A subclass says what the value of a node is; it may read the values of the node's parts as `self[part]`.  It is a
    base class and takes no functions, since one that held methods of its owner would live until the garbage collector
    finds the circle.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[Expr, V]] = {}  # with the node, so that its id stays its own

    @abstractmethod
    def _value(self, node: Expr) -> V:
        """The value of a node; pure."""

    def _parts(self, node: Expr) -> Sequence[Expr]:
        """The nodes whose values it follows from; pure."""
        return node.children()

    def __getitem__(self, node: Expr) -> V:
        """The value of a part of the node whose value is being found."""
        return self._known[id(node)][1]

    def of(self, e: Expr) -> V:
        """The value of `e`."""
        known = self._known
        found = known.get(id(e))
        if found is not None:
            return found[1]
        stack = [(e, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in known:
                continue
            if not ready:
                pending = [(part, False) for part in self._parts(node) if id(part) not in known]
                if pending:
                    stack.append((node, True))
                    stack.extend(reversed(pending))
                    continue
            known[id(node)] = (node, self._value(node))
        return known[id(e)][1]


def rewrite(e: Expr, fn: Callable[[Expr], Expr | None]) -> Expr:
    """`e` with every node replaced by `fn(node)`, bottom up.

    `fn` sees each node after its children were rewritten; None keeps it.  Nodes whose children stay are kept, so
    that sharing survives.
    """
    done: dict[int, Expr] = {}
    for node in post_order(e):
        children = node.children()
        if children:
            fresh = [done[id(child)] for child in children]
            if any([new is not old for new, old in zip(fresh, children, strict=True)]):
                replaced = node.rebuild(fresh)
                result = fn(replaced)
                done[id(node)] = replaced if result is None else result
                continue
        result = fn(node)
        done[id(node)] = node if result is None else result
    return done[id(e)]


def _rebuilt(node: Expr, children: Sequence[Expr]) -> Expr:
    return node.rebuild(children)


def substitute(e: Expr, values: Mapping[Var, Expr], rebuild: Rebuild = _rebuilt) -> Expr:
    """`e` with vars replaced.  A replacement has its var's dtype; it is not substituted into again.

    `rebuild(node, children)` makes a node over other children.
    """
    if isinstance(e, Var):
        return values.get(e, e)
    if not values:
        return e
    done: dict[int, Expr] = {}
    for node in post_order(e):
        if isinstance(node, Var):
            done[id(node)] = values.get(node, node)
            continue
        old = node.children()
        if not old:
            done[id(node)] = node
            continue
        fresh = [done[id(child)] for child in old]
        done[id(node)] = node if identical(fresh, old) else rebuild(node, fresh)
    return done[id(e)]


def free_vars(e: Expr) -> tuple[Var, ...]:
    """The vars of `e`, each once, in order of first use."""
    return tuple(node for node in post_order(e) if isinstance(node, Var))


def is_size(e: Expr) -> bool:
    """Whether `e` is made of symbolic dims and constants alone, so that it is one number in a kernel."""
    return not _has(e, lambda node: not node.children() and not _is_size_leaf(node))


def _is_size_leaf(node: Expr) -> bool:
    return isinstance(node, Const) or (isinstance(node, Var) and node.size)


class Sizes(Remembered[bool]):
    """`is_size` of many expressions that share nodes, each node looked at once."""

    __slots__ = ()

    def _value(self, node: Expr) -> bool:
        parts = node.children()
        return all([self[part] for part in parts]) if parts else _is_size_leaf(node)
