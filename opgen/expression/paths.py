"""What statements bind: on every path through their `if`s, and on any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import syntax as s


def defines(block: Sequence[s.Statement]) -> Iterator[s.Define]:
    """The definitions of tensors on any path, in order."""
    for item in block:
        if isinstance(item, s.Define):
            yield item
        elif isinstance(item, s.If):
            yield from defines((*item.then, *item.otherwise))


def assigned(block: Sequence[s.Statement]) -> set[str]:
    """The static names that are bound on any path."""
    found: set[str] = set()
    for item in block:
        if isinstance(item, s.Assign):
            found |= {target.name for target in item.targets}
        elif isinstance(item, s.If):
            found |= assigned(item.then) | assigned(item.otherwise)
    return found


def on_every_path(block: Sequence[s.Statement]) -> set[str]:
    """The names, static ones and tensors, that are bound whichever branches are taken.

    The others belong to one branch of an `if`, and are known only there.
    """
    found: set[str] = set()
    for item in block:
        if isinstance(item, s.Assign):
            found |= {target.name for target in item.targets}
        elif isinstance(item, s.Define):
            found.add(item.tensor.name)
        elif isinstance(item, s.If):
            found |= on_every_path(item.then) & on_every_path(item.otherwise)
    return found
