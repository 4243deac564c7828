"""Accesses that were proved once: the same one, met again in another build of a compute, is not proved again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...base.arith.expr import AnyDim, Dim, Expr, Var
from ...base.arith.structural import label
from ...base.arith.visit import binds
from .tensor import Read

Form = tuple[object, ...]


class Proved:
    """Remembers accesses by their form: index, dim, domains and facts, with vars and tensors by order of appearance.

    What a proof sees of an expression is in its form, so that equal forms have equal proofs.
    """

    def __init__(self) -> None:
        self._forms: set[Form] = set()

    def form(
        self, index: Expr, extent: Dim, extents: Mapping[Var, Dim], facts: Sequence[Expr]
    ) -> Form | None:
        """The form of an access; None where it has none (it reduces, or a dim may be anything)."""
        parts: list[object] = []
        numbers: dict[int, int] = {}
        for var, own in extents.items():
            if not (_number(var, numbers, parts) and _number(own, numbers, parts)):
                return None
        for part in (index, extent, *facts):
            if not _number(part, numbers, parts):
                return None
        return tuple(parts)

    def __contains__(self, form: Form) -> bool:
        return form in self._forms

    def add(self, form: Form) -> None:
        """Remember that the access of this form was proved."""
        self._forms.add(form)


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
            parts.append((node.dtype, node.size))
        elif isinstance(node, AnyDim) or binds(node):
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
