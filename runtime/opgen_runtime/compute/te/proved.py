"""Accesses that were proved or refused once: no proof of the same one is sought in another build of a compute.

Passes ask what a call computes, and segments are made of it again: where dims are long expressions of others, as behind
several layers that halve and double them, one proof takes up to a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from ...base.arith.expr import (
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Const,
    Dim,
    Expr,
    Not,
    Select,
    Table,
    Var,
)
from ...base.arith.structural import label
from ...base.lru_cache import LRUCache
from .tensor import Read

Form: TypeAlias = "tuple[object, ...]"
_KEPT: Final = 4096  # forms, of some hundred bytes each
_ARITHMETIC: Final = frozenset({Binary, Bitcast, Call, Cast, Compare, Const, Not, Select, Table})


class Proved:
    """Remembers accesses by their form: index, dim, domains and facts, with vars and tensors by order of appearance.

    What a proof sees of an expression is in its form, so that equal forms have equal proofs.  The last 4,096 are kept.
    """

    def __init__(self) -> None:
        self._verdicts: LRUCache[bool] = LRUCache(_KEPT)

    def form(
        self, index: Expr, extent: Dim, extents: Mapping[Var, Dim], facts: Sequence[Expr]
    ) -> Form | None:
        """The form of an access; None where it has none: it reduces, a dim may be anything."""
        parts: list[object] = []
        numbers: dict[int, int] = {}
        for var, own in extents.items():
            if not (_number(var, numbers, parts) and _number(own, numbers, parts)):
                return None
        for part in (index, extent, *facts):
            if not _number(part, numbers, parts):
                return None
        return tuple(parts)

    def verdict(self, form: Form) -> bool | None:
        """Whether the access of this form was proved; None where nobody has tried."""
        return self._verdicts.get(form)

    def add(self, form: Form, proved: bool) -> None:
        """Remember that the access of this form was proved, or that all searches for a proof have failed."""
        self._verdicts.put(form, proved)


def _number(root: Dim, numbers: dict[int, int], parts: list[object]) -> bool:
    """Number the nodes of `root` that have no number yet, and append what they are; False where one has no form."""
    if isinstance(root, int):
        parts.append(root)
        return True
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in numbers:
            continue
        if isinstance(node, Var):
            parts.append((node.dtype, node.size, node.least, node.most))
        elif type(node) not in _ARITHMETIC and not isinstance(node, Read):
            return False
        elif not ready and node.children():
            stack.append((node, True))
            stack.extend((child, False) for child in node.children())
            continue
        elif isinstance(node, Read):
            tensor = numbers.setdefault(id(node.tensor), len(numbers))
            parts.append((Read, node.dtype, tensor, *(numbers[id(child)] for child in node.children())))
        else:
            parts.append((*label(node), *(numbers[id(child)] for child in node.children())))
        numbers[id(node)] = len(numbers)
    parts.append(numbers[id(root)])
    return True
