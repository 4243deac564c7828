"""Under which conditions the nodes of an expression are evaluated, when every Select evaluates one branch only."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence, Set
from typing import Final

from ...base.arith import Expr, Select, Var, logical_not, post_order, select
from ...base.vocabulary import dataclass
from .tensor import Reduce

_MAX_ARMS: Final = 64  # beyond which a disjunction is a condition like any other


@dataclass(frozen=True, eq=False, slots=True)
class Arm:
    """One branch of a choice: `outer` holds (None: always), and `condition` does, or, if `inverted`, does not.

    `holds` is that as an expression, whose condition is evaluated only where `outer` holds.
    """

    number: int
    outer: Guard | None
    condition: Expr
    inverted: bool
    depth: int  # of choices around
    holds: Expr


@dataclass(frozen=True, eq=False, slots=True)
class Guard:
    """One of the arms is taken; `holds` is that as an expression, the arms in order."""

    arms: tuple[Arm, ...]
    among: frozenset[Arm]
    depth: int
    holds: Expr


class Guards:
    """The guards of the nodes of an expression in post order; None is always.

    What stands only inside reductions has none: it may be evaluated never, or often.  But what is evaluated for every
    element of a reduction that is never empty, and is the same for all of them, is used where the reduction is.  A node
    that is used in several places is evaluated if any of them is; both branches of a choice are the choice.  The same
    arms give the same object, so that the expressions of all guards share what they have in common.
    """

    def __init__(self, order: Sequence[Expr]) -> None:
        self._arms: dict[tuple[int, int, bool], Arm] = {}
        self._guards: dict[frozenset[Arm], Guard] = {}
        self._found: dict[int, Guard | None] = {}
        axes = _axes_used(order) if any(isinstance(node, Reduce) for node in order) else {}
        ways: dict[int, dict[Guard | None, None]] = {id(order[-1]): {None: None}}
        for node in reversed(order):  # parents first
            if id(node) not in ways:
                continue
            guard = self._found[id(node)] = self._joined(ways[id(node)])
            if isinstance(node, Select):
                ways.setdefault(id(node.condition), {})[guard] = None
                ways.setdefault(id(node.then), {})[self._under(guard, node.condition, False)] = None
                ways.setdefault(id(node.otherwise), {})[self._under(guard, node.condition, True)] = None
            elif isinstance(node, Reduce):
                for part in fixed_parts(node, axes):
                    ways.setdefault(id(part), {})[guard] = None
            else:
                for child in node.children():
                    ways.setdefault(id(child), {})[guard] = None

    def has(self, node: Expr) -> bool:
        """Whether the node stands outside of all reductions, too."""
        return id(node) in self._found

    def of(self, node: Expr) -> Guard | None:
        return self._found[id(node)]

    def before(self, reduce: Reduce, known: Collection[int] = ()) -> list[Expr]:
        """The largest values inside a reduction that are evaluated wherever it is, so that they can be before it.

        Leaves, and nodes `known` by id, are none.
        """
        guard = self.of(reduce)
        found: list[Expr] = []
        seen: set[int] = set(known)
        stack = list(reversed(reduce.children()))
        while stack:
            node = stack.pop()
            if id(node) in seen or not node.children():
                continue
            seen.add(id(node))
            if self.has(node) and implies(guard, self.of(node)):
                found.append(node)
            else:
                stack.extend(reversed(node.children()))
        return found

    def _under(self, outer: Guard | None, condition: Expr, inverted: bool) -> Guard:
        key = (id(outer), id(condition), inverted)
        arm = self._arms.get(key)
        if arm is None:
            own = logical_not(condition) if inverted else condition
            holds = own if outer is None else select(outer.holds, own, False)
            depth = 1 if outer is None else outer.depth + 1
            arm = self._arms[key] = Arm(len(self._arms), outer, condition, inverted, depth, holds)
        return self._any([arm])

    def _any(self, arms: list[Arm]) -> Guard:
        among = frozenset(arms)
        guard = self._guards.get(among)
        if guard is None:
            holds = arms[-1].holds
            for arm in reversed(arms[:-1]):
                holds = select(arm.holds, True, holds)
            depth = max(arm.depth for arm in arms)
            if len(arms) > _MAX_ARMS:
                whole = Arm(len(self._arms), None, holds, False, depth, holds)
                arms = [self._arms.setdefault((id(None), id(holds), False), whole)]
            guard = self._guards[among] = Guard(tuple(arms), frozenset(arms), depth, holds)
        return guard

    def _joined(self, ways: dict[Guard | None, None]) -> Guard | None:
        """One guard that holds where any of the ways does, and nowhere else."""
        if len(ways) == 1:
            return next(iter(ways))
        if None in ways:
            return None
        left = dict.fromkeys(arm for guard in ways if guard is not None for arm in guard.arms)
        deepest = [(-arm.depth, arm.number, arm) for arm in left]
        heapq.heapify(deepest)
        while deepest:
            *_, arm = heapq.heappop(deepest)
            other = self._arms.get((id(arm.outer), id(arm.condition), not arm.inverted))
            if arm not in left or other not in left:
                continue
            if arm.outer is None:
                return None  # both branches of a choice that stands in none
            del left[arm], left[other]
            for around in arm.outer.arms:
                if around not in left:
                    left[around] = None
                    heapq.heappush(deepest, (-around.depth, around.number, around))
        among = frozenset(left)
        return self._any([arm for arm in left if not _covered(arm, among)])


def fixed_parts(reduce: Reduce, axes_used: Mapping[int, Set[Var]] | None = None) -> list[Expr]:
    """The largest parts of a reduction that are evaluated whenever it is, and do not depend on its axes.

    `axes_used` tells the axes of reductions that nodes depend on, where it is known already.
    """
    used = _axes_used(post_order(reduce)) if axes_used is None else axes_used
    own = {axis.var for axis in reduce.axes}
    found: list[Expr] = []
    seen: set[int] = set()
    stack = _certain_parts(reduce)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if own.isdisjoint(used.get(id(node), ())):
            found.append(node)
        elif isinstance(node, Select):
            stack.append(node.condition)
        elif isinstance(node, Reduce):
            own.update(axis.var for axis in node.axes)
            stack.extend(_certain_parts(node))
        else:
            stack.extend(node.children())
    return found


def _certain_parts(reduce: Reduce) -> list[Expr]:
    """The parts of a reduction that are evaluated at least once."""
    found: list[Expr] = []
    for axis in reduce.axes:
        if isinstance(axis.extent, Expr):
            found.append(axis.extent)
        if not isinstance(axis.extent, int) or not axis.extent:
            return found
    return [*found, reduce.value if reduce.condition is None else reduce.condition]


def _axes_used(order: Sequence[Expr]) -> dict[int, frozenset[Var]]:
    """By node, the axes of reductions around it that it depends on."""
    axes = {axis.var for node in order if isinstance(node, Reduce) for axis in node.axes}
    used: dict[int, frozenset[Var]] = {}
    for node in order:
        own: frozenset[Var] = frozenset((node,)) if isinstance(node, Var) and node in axes else frozenset()
        for child in node.children():
            inner = used.get(id(child), own)
            own = own if inner <= own else own | inner
        used[id(node)] = own - {axis.var for axis in node.axes} if isinstance(node, Reduce) else own
    return used


def implies(guard: Guard | None, other: Guard | None) -> bool:
    """Whether `other` certainly holds where `guard` does; False where that is not seen."""
    if other is None or guard is other:
        return True
    return guard is not None and all(arm in other.among or _covered(arm, other.among) for arm in guard.arms)


def _covered(arm: Arm, among: frozenset[Arm]) -> bool:
    """Whether one of `among` is taken wherever `arm` is, as the choices around it tell."""
    outer = arm.outer
    while outer is not None:
        if outer.among <= among:
            return True
        if len(outer.arms) > 1:
            return False
        outer = outer.arms[0].outer
    return False
