"""Expressions with reductions in them: each reduction has one place, however many ways lead to it.

    select(c, total + 1, total * 2) + select(d, total, 0), total = sum(x[k] for k in range(n)) under `outer`
-->
    if outer: the loop of total
    ... total's accumulator is read wherever the expression uses it

A reduction runs where one of its uses is evaluated, after what it uses and what decides that.  Values that several
statements use are kept in buffers, so that what is made grows with the nodes of the expression.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from ....base.arith import Const, Expr, Select, Var, const, logical_not, select
from ....base.vocabulary import BOOL, INDEX, DType
from ....compute.te.guards import Arm, Guard, Guards
from ....compute.te.tensor import Reduce
from ...schedule import ForKind
from ..analysis.components import components
from ..nodes.nest import ZERO, guarded
from ..nodes.stmt import For, If, Load, Stmt, Store
from ..nodes.visit import block
from .inner import InnerReduction
from .prelude import Prelude, Values

Given = Mapping[int, Expr]
Item = Expr | Guard
NOTHING: Final[Given] = {}
_TRUE: Final = const(True, BOOL)
_FALSE: Final = const(False, BOOL)
_MIN_BUFFERED_NODES: Final = 32  # nodes of a value that is worth a buffer where several statements use it


class SharedReductions:
    """Lowers one expression; `given` has the values of nodes that were computed before, by id."""

    def __init__(
        self,
        values: Values,
        order: Sequence[Expr],
        env: Mapping[Var, Expr],
        given: Given,
        lanes: bool,
    ) -> None:
        self.values, self.env, self.given, self.lanes = values, env, given, lanes
        self.order, self.root = order, order[-1]
        self.guards = Guards(order)
        self.prelude = Prelude()
        self.done: dict[int, Expr] = dict(given)
        self.wanted: dict[int, Expr] = {}  # by the id of a guard: whether it holds
        self.entries: dict[int, list[Expr]] = {}
        self.kept: set[int] = set()
        self.asked: set[int] = set()
        self.reducing: set[int] = set()
        self.weights: dict[int, int] = {}
        for node in order:
            children = node.children()
            if isinstance(node, Reduce) or any(id(child) in self.reducing for child in children):
                self.reducing.add(id(node))
            weight = 1 + sum(self.weights.get(id(child), 1) for child in children)
            self.weights[id(node)] = min(weight, _MIN_BUFFERED_NODES)
        self._find_shared()
        root: Item = self.root
        self.groups = components(root, self._needs)
        self.cells = self._cells()

    def lower(self) -> tuple[Prelude, Expr]:
        for members in self.groups:
            made = [member for member in members if self._is_made(member)]
            if _is_circle(members):
                self._settle(members, made)
            else:
                for member in made:
                    self._make(member, len(members) > 1)
        return self.prelude, self._lowered(self.root)

    # ------------------------------------------------------------------ what needs what

    def _needs(self, item: Item) -> list[Item]:
        """What must be known before an item; `given` values are."""
        if isinstance(item, Guard):
            outer = [arm.outer for arm in item.arms if arm.outer is not None]
            return [*outer, *(arm.condition for arm in item.arms)]
        found: list[Item] = [node for node in self._inner(item) if id(node) not in self.given]
        if isinstance(item, Reduce) or id(item) in self.kept:
            guard = self.guards.of(item)
            return found if guard is None else [*found, guard]
        return found

    def _entries(self, reduce: Reduce) -> list[Expr]:
        """The values inside a reduction that can be computed before it."""
        found = self.entries.get(id(reduce))
        if found is None:
            found = self.entries[id(reduce)] = self.guards.before(reduce, self.given)
        return found

    def _find_shared(self) -> None:
        """Find the values that several statements use: those of reductions, guards, the root, and of those values."""
        users: dict[int, set[int]] = {id(self.root): {0}}
        for node in self.order:
            if isinstance(node, Reduce) and self.guards.has(node):
                self._ask(self.guards.of(node), node, users)
        for node in reversed(self.order):  # what uses a value comes before it
            if id(node) not in users or not self.guards.has(node):
                continue  # inside a reduction, or nothing that a reduction could take from outside
            own = users[id(node)]
            user = id(node) if len(own) > 1 or isinstance(node, Reduce) else next(iter(own))
            if len(own) > 1 and self._is_worth_keeping(node):
                self.kept.add(id(node))
                self._ask(self.guards.of(node), node, users)
            for child in self._inner(node):
                used = users.setdefault(id(child), set())
                used.add(user)
                if isinstance(node, Reduce) and id(child) in self.reducing:
                    used.add(0)  # a reduction finds in a buffer what others give

    def _ask(self, guard: Guard | None, by: Item, users: dict[int, set[int]]) -> None:
        """The statement of `by` asks a guard; one of several conditions has a statement of its own."""
        stack = [(guard, by)] if guard is not None else []
        while stack:
            asked, user = stack.pop()
            if _is_compound(asked):
                if id(asked) in self.asked:
                    continue
                self.asked.add(id(asked))
                user = asked
            for arm in asked.arms:
                users.setdefault(id(arm.condition), set()).add(id(user))
                if arm.outer is not None:
                    stack.append((arm.outer, user))

    def _is_worth_keeping(self, node: Expr) -> bool:
        if isinstance(node, Reduce):
            return False
        heavy = self.weights[id(node)] == _MIN_BUFFERED_NODES and node.dtype is not INDEX
        return id(node) in self.reducing or (heavy and self.guards.of(node) is None)

    def _inner(self, node: Expr) -> Sequence[Expr]:
        """The values that a node needs."""
        return self._entries(node) if isinstance(node, Reduce) else node.children()

    def _is_made(self, item: Item) -> bool:
        """Whether an item has statements of its own."""
        if isinstance(item, Guard):
            return _is_compound(item)
        return isinstance(item, Reduce) or id(item) in self.kept

    # ------------------------------------------------------------------ statements

    def _make(self, item: Item, cyclic: bool) -> None:
        """The statements of an item, where all that it needs is known.

        In a circle without reductions the guards of values depend on the values, which then are not kept.
        """
        if isinstance(item, Guard):
            self.wanted[id(item)] = self._stored(self._holds(item))
        elif isinstance(item, Reduce):
            inner = self._started(item)
            self.prelude.stmts.append(guarded([self._holds(self.guards.of(item))], inner.run()))
        elif not cyclic:
            value = self._lowered(item)
            self.done[id(item)] = self._stored(value, self._holds(self.guards.of(item)))

    def _started(self, reduce: Reduce) -> InnerReduction:
        given = {
            **self.given,
            **{id(n): self.done[id(n)] for n in self._entries(reduce) if id(n) in self.done},
        }
        inner = InnerReduction(self.values, reduce, self.env, given, self.lanes)
        self.prelude.buffers.extend(inner.buffers)
        self.prelude.stmts.append(inner.starts)
        self.done[id(reduce)] = inner.value
        return inner

    def _cells(self) -> dict[DType, Iterator[Load]]:
        """Places for values and flags, by dtype, in one buffer each."""
        counts: Counter[DType] = Counter()
        for members in self.groups:
            made = [member for member in members if self._is_made(member)]
            counts.update(item.dtype for item in made if isinstance(item, Expr) and id(item) in self.kept)
            flags = len(made) + 1 if _is_circle(members) else sum(isinstance(item, Guard) for item in made)
            counts.update({BOOL: flags} if flags else {})
        return {dtype: self._places("kept", dtype, count) for dtype, count in counts.items()}

    def _places(self, name: str, dtype: DType, count: int) -> Iterator[Load]:
        buffer = self.values.local(name, dtype, (count,))
        self.prelude.buffers.append(buffer)
        for place in range(count):
            yield Load(dtype, buffer, (const(place, INDEX),))

    def _stored(self, value: Expr, condition: Expr = _TRUE) -> Expr:
        """A place with a value, which is computed where a condition holds."""
        place = next(self.cells[value.dtype])
        if not isinstance(condition, Const):
            self.prelude.stmts.append(_store(place, _nothing(value.dtype)))
        self.prelude.stmts.append(guarded([condition], _store(place, value)))
        return place

    def _flag(self, set_: bool = False) -> Load:
        """A place for a flag."""
        place = next(self.cells[BOOL])
        self.prelude.stmts.append(_store(place, const(set_, BOOL)))
        return place

    def _holds(self, guard: Guard | None, known: Callable[[Expr], Expr] = lambda _: _TRUE) -> Expr:
        """Whether a guard holds, as far as what is `known` tells."""
        if guard is None:
            return _TRUE
        if id(guard) in self.wanted:
            return self.wanted[id(guard)]
        holds: Expr = _FALSE
        for arm in reversed(guard.arms):
            holds = select(self._taken(arm, known), True, holds)
        return holds

    def _taken(self, arm: Arm, known: Callable[[Expr], Expr]) -> Expr:
        condition = self._lowered(arm.condition)
        own = logical_not(condition) if arm.inverted else condition
        return select(self._holds(arm.outer, known), select(known(arm.condition), own, False), False)

    def _lowered(self, e: Expr) -> Expr:
        """The value of a node outside of all reductions."""
        stack = [e]
        while stack:
            node = stack[-1]
            if id(node) in self.done:
                stack.pop()
                continue
            children = node.children()
            pending = [child for child in children if id(child) not in self.done]
            if pending:
                stack.extend(reversed(pending))
                continue
            stack.pop()
            self.done[id(node)] = self.values.node(node, [self.done[id(c)] for c in children], self.env)
        return self.done[id(e)]

    # ------------------------------------------------------------------ circles

    def _settle(self, members: Sequence[Item], made: Sequence[Item]) -> None:
        """Items that need each other, for some conditions at least: rounds, until nothing changes.

            select(a, r, 0) + select(select(b, r > 0, c), s, 0) + select(select(a, s > 0, d), r, 0)

        Which of them is evaluated first only the conditions tell.  In each round every item is made that is wanted and
        all of whose values are known by then, each once.
        """
        flags: dict[int, Load] = {}
        runs: dict[int, InnerReduction] = {}
        kept: dict[int, Load] = {}
        for item in made:
            flags[id(item)] = self._flag()
            if isinstance(item, Guard):
                self.wanted[id(item)] = flags[id(item)]
            elif isinstance(item, Reduce):
                runs[id(item)] = self._started(item)
            else:
                place = self.done[id(item)] = kept[id(item)] = next(self.cells[item.dtype])
                self.prelude.stmts.append(_store(place, _nothing(item.dtype)))
        known = _Known({id(member) for member in members}, flags, self._lowered)
        moving = self._flag(True)
        steps: list[Stmt] = [_store(moving, _FALSE)]
        for item in made:
            done = [_store(flags[id(item)], _TRUE), _store(moving, _TRUE)]
            if isinstance(item, Guard):
                own = self.wanted.pop(id(item))
                body: Stmt = If(self._holds(item, known.of), block(*done))
                self.wanted[id(item)] = own
            else:
                if isinstance(item, Reduce):
                    what, ready = runs[id(item)].run(), known.all(self._inner(item))
                else:
                    del self.done[id(item)]
                    what, ready = _store(kept[id(item)], self._lowered(item)), known.parts_of(item)
                    self.done[id(item)] = kept[id(item)]
                body = guarded([self._holds(self.guards.of(item), known.of), ready], block(what, *done))
            steps.append(If(logical_not(flags[id(item)]), body))
        rounds = For(
            Var(INDEX, "round"), ZERO, const(len(made) + 1, INDEX), ForKind.SERIAL, If(moving, block(*steps))
        )
        self.prelude.stmts.append(rounds)


class _Known:
    """Whether the values of a circle are known: those of `inside` with a flag where it is set."""

    def __init__(self, inside: set[int], flags: Mapping[int, Expr], lowered: Callable[[Expr], Expr]) -> None:
        self.inside, self.lowered = inside, lowered
        self.done: dict[int, Expr] = dict(flags)

    def of(self, e: Expr) -> Expr:
        """The condition that the value of `e`, where it is evaluated, is known."""
        stack = [e]
        while stack:
            node = stack[-1]
            if id(node) in self.done or id(node) not in self.inside:
                stack.pop()
                self.done.setdefault(id(node), _TRUE)
                continue
            children = node.children()
            pending = [child for child in children if id(child) not in self.done]
            if pending:
                stack.extend(reversed(pending))
                continue
            stack.pop()
            self.done[id(node)] = self.parts_of(node)
        return self.done[id(e)]

    def parts_of(self, node: Expr) -> Expr:
        """The condition that what the value of `node` takes is known."""
        if not isinstance(node, Select):
            return self.all(node.children())
        condition, then, otherwise = (self.of(child) for child in node.children())
        return select(condition, select(self.lowered(node.condition), then, otherwise), False)

    def all(self, nodes: Sequence[Expr]) -> Expr:
        """The condition that all of several values are known."""
        holds: Expr = _TRUE
        for node in reversed(nodes):
            holds = select(self.of(node), holds, False)
        return holds


def _store(place: Load, value: Expr) -> Stmt:
    return Store(place.buffer, place.indices, value)


def _nothing(dtype: DType) -> Expr:
    return const(False if dtype.is_bool else 0, dtype)


def _is_circle(members: Sequence[Item]) -> bool:
    """Whether items need each other to know which reductions run."""
    return len(members) > 1 and any(isinstance(member, Reduce) for member in members)


def _is_compound(guard: Guard) -> bool:
    """Whether a guard is more than one condition."""
    return len(guard.arms) > 1 or guard.arms[0].outer is not None
