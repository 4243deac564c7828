"""Under which conditions the nodes of an expression are wanted, when every Select evaluates one branch only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....base.arith import Expr, Select, const
from ....base.vocabulary import BOOL, dataclass

_MAX_CHOICE_DEPTH: Final = 64  # choices around a node, beyond which it counts as guarded by several


@dataclass(frozen=True, eq=False, slots=True)
class Guard:
    """`outer` holds, and `condition` does (or, if `inverted`, does not); no outer is everywhere."""

    outer: Guard | None
    condition: Expr
    inverted: bool
    depth: int


SEVERAL: Final = Guard(None, const(False, BOOL), False, 0)
"""The node is wanted under conditions that are not one conjunction of choices."""


def guards_of(order: Sequence[Expr]) -> dict[int, Guard | None]:
    """For every node of an expression in post order, the guard under which it is wanted; None is always.

    A condition never holds, in any of its own nodes, what it guards: a node that is wanted for a condition, too, is not
    guarded by it alone.  Guards are shared: the same choices give the same object.
    """
    return _Guards(order).run()


class _Guards:
    def __init__(self, order: Sequence[Expr]) -> None:
        self.order = order
        self.made: dict[tuple[int, int, bool], Guard] = {}
        self.ways: dict[int, set[Guard | None]] = {id(node): set() for node in order}

    def run(self) -> dict[int, Guard | None]:
        found: dict[int, Guard | None] = {}
        self.ways[id(self.order[-1])].add(None)
        for node in reversed(self.order):  # parents first
            guard = found[id(node)] = self._joined(self.ways[id(node)])
            if isinstance(node, Select):
                self.ways[id(node.condition)].add(guard)
                self.ways[id(node.then)].add(self._under(guard, node.condition, False))
                self.ways[id(node.otherwise)].add(self._under(guard, node.condition, True))
            else:
                for child in node.children():
                    self.ways[id(child)].add(guard)
        return found

    def _under(self, outer: Guard | None, condition: Expr, inverted: bool) -> Guard:
        depth = 1 if outer is None else outer.depth + 1
        if outer is SEVERAL or depth > _MAX_CHOICE_DEPTH:
            return SEVERAL
        key = (id(outer), id(condition), inverted)
        guard = self.made.get(key)
        if guard is None:
            guard = self.made[key] = Guard(outer, condition, inverted, depth)
        return guard

    def _joined(self, ways: set[Guard | None]) -> Guard | None:
        """One guard that holds where any of the ways does, and nowhere else; else SEVERAL."""
        if len(ways) == 1:
            return next(iter(ways))
        if None in ways:
            return None
        if SEVERAL in ways:
            return SEVERAL
        left = {guard for guard in ways if guard is not None}
        for deepest in range(max(guard.depth for guard in left), 0, -1):
            for guard in [g for g in left if g.depth == deepest]:
                both = self.made.get((id(guard.outer), id(guard.condition), not guard.inverted))
                if both in left:  # both branches of a choice
                    if guard.outer is None:
                        return None
                    left -= {guard, both}
                    left.add(guard.outer)
        kept = [guard for guard in left if not _has_outer(guard, left)]
        return kept[0] if len(kept) == 1 else SEVERAL


def _has_outer(guard: Guard, among: set[Guard]) -> bool:
    outer = guard.outer
    while outer is not None and outer not in among:
        outer = outer.outer
    return outer is not None
