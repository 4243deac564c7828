"""Groups in an order in which each stands after what it reads, so that segments can be computed one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..heuristics import MAX_DISTANCE_GROUPS
from .dataflow import Node
from .groups import Group, Groups


def in_order(nodes: Sequence[Node], groups: Groups) -> Iterator[Group]:
    """The groups of `nodes`, each after those that it reads; what is no op is a group without members."""
    done: set[int] = set()
    for node in nodes:
        stack = [(groups.find(node), False)]
        while stack:
            group, is_ready = stack.pop()
            if is_ready:
                yield group
            elif id(group) not in done:
                done.add(id(group))
                stack.append((group, True))
                read = [groups.find(part) for member in nodes_of(group) for part in member.parts]
                stack.extend([(each, False) for each in reversed(read) if id(each) not in done])


def nodes_of(group: Group) -> list[Node]:
    """The members of a group, or what is no op."""
    return group.members or [group.root]


class Order:
    """The order of all groups, kept while groups are joined: of a pair that is joined, what needs the first of the two
    moves behind both.  (M. Pearce and P. Kelly, A dynamic topological sort algorithm, 2006, for contractions.)

    That no path leads from one of the two through others to the other is asked of whole groups: after joins, a path may
    enter a group at one member and leave it at another that does not read the first.
    """

    def __init__(self, nodes: Sequence[Node], groups: Groups) -> None:
        self._groups = groups
        self._places: list[Group | None] = [*in_order(nodes, groups)]
        self._place = {id(group): place for place, group in enumerate(self._places) if group is not None}

    def needing(self, early: Group, later: Group) -> dict[int, Group] | None:
        """The groups between the two that need `early`, by id; None where `later` needs one of them, or is too far."""
        end = self._place[id(later)]
        if end - self._place[id(early)] > MAX_DISTANCE_GROUPS.value:
            return None
        found: dict[int, Group] = {}
        stack, steps = [early], 0
        while stack:
            group = stack.pop()
            for reader in [each for member in nodes_of(group) for each in member.readers]:
                to, steps = self._groups.find(reader), steps + 1
                if steps > MAX_DISTANCE_GROUPS.value or (to is later and group is not early):
                    return None
                if to is not early and id(to) not in found and self._place[id(to)] < end:
                    found[id(to)] = to
                    stack.append(to)
        return found

    def pair(self, one: Group, other: Group) -> tuple[Group, Group]:
        """The two, that which stands before the other first."""
        return (one, other) if self._place[id(one)] < self._place[id(other)] else (other, one)

    def join(self, early: Group, later: Group, into: Group, needing: dict[int, Group]) -> None:
        """`early` and `later` have become the group `into`, one of the two."""
        begin, end = self._place[id(early)], self._place[id(later)]
        between = [group for group in self._places[begin + 1 : end] if group is not None]
        before = [group for group in between if id(group) not in needing]
        fresh = [*before, into, *[group for group in between if id(group) in needing]]
        self._places[begin : end + 1] = [*fresh, *[None] * (end + 1 - begin - len(fresh))]
        for place, group in enumerate(fresh, begin):
            self._place[id(group)] = place
