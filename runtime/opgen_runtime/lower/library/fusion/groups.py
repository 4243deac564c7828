"""Groups of nodes that are to be one segment, and their joining by the patterns of their ops.

Post-dominator fusion as in Relay, with reductions extended by their epilogues:

    elemwise, broadcast   into the post-dominator, if all between is injective
    injective             likewise, after those, so that they go into reductions too
    reductions            take elementwise consumers of the reduced shape (an epilogue)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ....base.vocabulary import OpPattern
from .dataflow import Node

Rule = Callable[[OpPattern, bool], bool]
"""`(pattern of a group, whether it is the sink) -> whether it may be joined`."""


@dataclass(eq=False, slots=True)
class Group:
    """Nodes that are to be one segment, operands first.

    `pattern`: of the group as a whole; `root`: the node whose value it gives, the last one where there are several.
    """

    root: Node
    pattern: OpPattern
    members: list[Node]
    first: int  # the least position of a member
    joined: Group | None = None

    @property
    def size(self) -> int:
        """How many ops it has; what is no op, such as a variable, has none."""
        return len(self.members)


class Groups:
    """The groups of all nodes, by union-find.

    `apart`: why two ops, one of which reads the other, were not joined, where a rule was tried and refused.
    """

    def __init__(self, nodes: Sequence[Node], max_ops: int) -> None:
        self._of = {
            node: Group(node, node.pattern, [] if node.call is None else [node], node.position)
            for node in nodes
        }
        self.max_ops = max_ops
        self.apart: dict[tuple[Node, Node], str] = {}

    def find(self, node: Node) -> Group:
        """The group of a node."""
        group = self._of[node]
        while group.joined is not None:
            group = group.joined
        self._of[node] = group
        return group

    def between(self, node: Node, sink: Node, may_join: Rule) -> list[Node] | None:
        """The nodes on the paths from `node` to `sink`; None if one of them, or the sink, may not join."""
        if not may_join(self.find(sink).pattern, True):
            return None
        found: dict[Node, None] = {}
        stack = [user for user, _ in node.users]
        while stack:
            each = stack.pop()
            if each is sink or each in found:
                continue
            if not may_join(self.find(each).pattern, False) or len(found) >= self.max_ops:
                return None
            found[each] = None
            stack.extend([user for user, _ in each.users])
        return list(found)

    def of(self, nodes: Iterable[Node]) -> list[Group]:
        """The groups of some nodes, each once."""
        return list({id(group): group for node in nodes if (group := self.find(node))}.values())

    def fits(self, groups: Sequence[Group]) -> bool:
        """Whether a segment may hold them all."""
        return sum([group.size for group in groups]) <= self.max_ops

    def join(self, groups: Sequence[Group], into: Group) -> None:
        """Make `groups` part of `into`, which keeps its root."""
        for group in groups:
            if group is not into:
                group.joined = into
                into.members.extend(group.members)
                into.pattern = max(into.pattern, group.pattern)
                into.first = min(into.first, group.first)


def join_by_pattern(nodes: Sequence[Node], groups: Groups) -> None:
    """Join each node with its post-dominator and what lies between, where the rule for its pattern allows it.

    The rule for injective ops runs after the others, when those have found their groups.
    """
    for injective in (False, True):
        for node in nodes:
            sink = node.parent
            group = groups.find(node)
            if sink is None or group.root is not node or group is groups.find(sink):
                continue
            may_join = _rule(group.pattern, node.reach, injective)
            between = may_join and groups.between(node, sink, may_join)
            if between is None:
                continue
            joined = groups.of([node, *between, sink])
            if groups.fits(joined):
                groups.join(joined, groups.find(sink))
            else:
                groups.apart[node, sink] = f"together they have more than {groups.max_ops} ops"


def _rule(pattern: OpPattern, reach: OpPattern, injective: bool) -> Rule | None:
    """Which groups a group of `pattern` may join; None if it stays as it is."""
    if pattern in (OpPattern.COMM_REDUCE, OpPattern.OUT_ELEMWISE_FUSABLE):
        return _epilogue if not injective and reach == OpPattern.ELEMWISE else None
    if pattern <= OpPattern.INJECTIVE and injective == (pattern == OpPattern.INJECTIVE):
        return _producer if reach <= OpPattern.COMM_REDUCE else None
    return None


def _epilogue(found: OpPattern, is_sink: bool) -> bool:
    """A reduction joins what reads it element by element."""
    return found <= OpPattern.BROADCAST


def _producer(found: OpPattern, is_sink: bool) -> bool:
    """Elementwise and injective ops join a group with a reduction only as its inputs, not on the way."""
    return found <= (OpPattern.OUT_ELEMWISE_FUSABLE if is_sink else OpPattern.INJECTIVE)
