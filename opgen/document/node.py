"""Located YAML: text, lists and mappings, each with its place.  No tag is resolved and no value is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from opgen_runtime.base.vocabulary import dataclass

from ..diagnostics import Place
from .source import Scalar


@dataclass(frozen=True, slots=True, eq=False)
class TextNode:
    """A scalar as text."""

    value: str
    place: Place
    scalar: Scalar

    @property
    def is_empty(self) -> bool:
        """Nothing was written (`key:`); a quoted empty text is not empty in this sense."""
        return not self.value and not self.scalar.style

    def span(self, start: int, end: int, positions: Sequence[tuple[int, int]]) -> Place:
        """The place of `value[start:end]`, given `self.scalar.positions(value)`."""
        last = len(positions) - 1
        first = positions[min(start, last)]
        if end <= start:
            return self.scalar.source.place(first, (first[0], first[1] + 1))
        line, column = positions[min(end - 1, last)]
        return self.scalar.source.place(first, (line, column + 1))


@dataclass(frozen=True, slots=True, eq=False)
class ListNode:
    """A sequence."""

    items: tuple[Node, ...]
    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class MapNode:
    """A mapping; keys are unique.  `flow` says that it is written with braces."""

    entries: tuple[tuple[TextNode, Node], ...]
    place: Place
    flow: bool
    _index: dict[str, tuple[TextNode, Node]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", {entry[0].value: entry for entry in self.entries})

    def get(self, key: str) -> Node | None:
        found = self._index.get(key)
        return None if found is None else found[1]

    def key(self, key: str) -> TextNode | None:
        found = self._index.get(key)
        return None if found is None else found[0]

    def __iter__(self) -> Iterator[tuple[TextNode, Node]]:
        return iter(self.entries)


Node = TextNode | ListNode | MapNode


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One YAML document: `index` is its position in the file."""

    path: str
    index: int
    root: MapNode
