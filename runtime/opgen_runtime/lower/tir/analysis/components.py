"""The strongly connected components of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def components(root: T, needs: Callable[[T], Sequence[T]]) -> list[list[T]]:
    """The items that `root` needs, itself too, in groups that need each other; a group comes after what it needs.

    Items are told apart by identity.  Inside a group an item comes after those that it led to first.
    Tarjan's algorithm: Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972).
    """
    found: list[list[T]] = []
    number: dict[int, int] = {id(root): 0}
    lowest: dict[int, int] = {id(root): 0}
    finished: dict[int, int] = {}
    open_items: list[T] = [root]
    is_open: set[int] = {id(root)}
    path = [(root, iter(needs(root)))]
    while path:
        item, rest = path[-1]
        for other in rest:
            key = id(other)
            if key not in number:
                number[key] = lowest[key] = len(number)
                open_items.append(other)
                is_open.add(key)
                path.append((other, iter(needs(other))))
                break
            if key in is_open:
                lowest[id(item)] = min(lowest[id(item)], number[key])
        else:
            path.pop()
            key = id(item)
            finished[key] = len(finished)
            if path:
                above = id(path[-1][0])
                lowest[above] = min(lowest[above], lowest[key])
            if lowest[key] == number[key]:
                group: list[T] = []
                while not group or group[-1] is not item:
                    group.append(open_items.pop())
                    is_open.discard(id(group[-1]))
                found.append(sorted(group, key=lambda member: finished[id(member)]))
    return found
