"""What fresh analyzers found out about expressions, kept: of the same dims the same is asked again and again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from ...base.arith import Analyzer, logical_not, post_order
from ...base.arith.expr import AnyDim, Binary, Compare, Const, Expr, Var
from ...base.arith.structural import label
from ...base.arith.visit import binds
from ...base.lru_cache import LRUCache

_MAX_CACHED: Final = 4096
_LARGE: Final = 200  # nodes; what is larger is seldom asked twice

# With each answer the expression itself, whose vars stand in the key by identity.
_simplified: Final[LRUCache[tuple[Expr, Expr]]] = LRUCache(_MAX_CACHED)
_told: Final[LRUCache[tuple[Expr, Expr | None]]] = LRUCache(_MAX_CACHED)
_decided: Final[LRUCache[tuple[Expr, bool | None]]] = LRUCache(_MAX_CACHED)


def simplified(e: Expr) -> Expr:
    """`Analyzer().simplify(e)`: an expression of equal value, whatever its vars are, usually simpler.

    Two calls may give the same object.  What folds `a or a` by identity would then say more where something is kept
    than where it is not: such results are for those who ask for a value or a root, not for building on.
    """
    if not e.children():
        return e
    key = _form(e)
    known = None if key is None else _simplified.get(key)
    if known is None:
        known = e, Analyzer().simplify(e)
        if key is not None:
            _simplified.put(key, known)
    return known[1]


def decided(condition: Expr) -> bool | None:
    """Whether a condition holds whatever its vars are, dims being at least 0; None where neither is proved."""
    key = _form(condition)
    known = None if key is None else _decided.get(key)
    if known is None:
        known = condition, _decide(condition)
        if key is not None:
            _decided.put(key, known)
    return known[1]


def told(condition: Expr) -> Expr:
    """`Analyzer().simplify(condition)`.  That it is a constant, or as simple as it can be, is found once; what else it
    is, is made each time, to be built on.
    """
    key = _form(condition)
    known = None if key is None else _told.get(key)
    if known is not None:
        return condition if known[1] is None else known[1]
    found = Analyzer().simplify(condition)
    if key is not None and (found is condition or isinstance(found, Const)):
        _told.put(key, (condition, None if found is condition else found))
    return found


def _decide(condition: Expr) -> bool | None:
    analyzer = Analyzer()
    if analyzer.prove(condition):
        return True
    return False if analyzer.prove(logical_not(condition)) else None


def _form(e: Expr) -> Hashable | None:
    """Equal for expressions of the same structure over the same vars; None where that is not worth while."""
    numbers: dict[int, int] = {}
    parts: list[object] = []
    for node in post_order(e):
        kind = type(node)
        if kind is Var or kind is AnyDim:
            parts.append(id(node))
        elif kind is Binary or kind is Compare:
            assert isinstance(node, Binary | Compare)
            parts.append((kind, node.op, node.dtype, numbers[id(node.a)], numbers[id(node.b)]))
        elif binds(node) or len(parts) > _LARGE:
            return None
        else:
            parts.append((label(node), *[numbers[id(child)] for child in node.children()]))
        numbers[id(node)] = len(numbers)
    return tuple(parts)
