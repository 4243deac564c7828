"""Trees of values: tuples, lists and dicts, whose leaves are anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


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
