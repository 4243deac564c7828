"""Trees of values: tuples, lists and dicts, whose leaves are anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ....base.errors import CallError


def leaves(tree: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves in order, each with its place, such as `[0]['w']`."""
    if isinstance(tree, tuple | list):
        for k, item in enumerate(tree):
            yield from leaves(item, f"{place}[{k}]")
    elif isinstance(tree, dict):
        for name, item in tree.items():
            yield from leaves(item, f"{place}[{name!r}]")
    else:
        yield place, tree


def aligned(tree: Any, like: Any, what: str) -> list[Any]:
    """The leaves of `tree` in the order of those of `like`; entries of dicts are told apart by their names.

    Raises CallError, which begins with `what`, where one has leaves that the other has not.
    """
    found, wanted = dict(leaves(tree)), [place for place, _ in leaves(like)]
    if found.keys() != set(wanted):
        given, expected = (", ".join([place or "the top" for place in each]) for each in (found, wanted))
        raise CallError(f"{what} has values at {given or 'no place'}, expected {expected or 'none'}")
    return [found[place] for place in wanted]


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with `function(leaf)` for each leaf, in order."""
    if isinstance(tree, tuple | list):
        items = [mapped(function, item) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    if isinstance(tree, dict):
        return {name: mapped(function, item) for name, item in tree.items()}
    return function(tree)


def filled(tree: Any, values: Iterator[Any]) -> Any:
    """The tree with the next value in place of each leaf."""
    return mapped(lambda _: next(values), tree)
