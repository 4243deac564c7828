"""A located document to the document model, with every error of every key at its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from opgen_runtime.base.vocabulary import dataclass

from ..diagnostics import CODES, Diagnostics, Edit, Place, Suggestion, did_you_mean
from .compose import QUOTE_HINT
from .fields import kind_of
from .node import Document, ListNode, MapNode, Node, TextNode
from .schema import DeclarationPart

Path = tuple[str | int, ...]
_MAX_ROUNDS: Final = 20  # of validation, each without the entries that were wrong before


@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """A document that fits the model.  `key_place` finds the place of any key by its path."""

    document: Document
    part: DeclarationPart
    dropped: frozenset[Path]  # entries that were wrong and have been left out

    def dropped_nodes(self) -> Iterator[tuple[Path, Node]]:
        """The entries that have been left out, as they are written."""
        for path in self.dropped:
            yield path, _node(self.document.root, path)

    def key_place(self, *path: str | int) -> Place:
        """The place of the key at `path`, or of the nearest one above it."""
        return _key_place(self.document.root, path)

    def value_place(self, *path: str | int) -> Place:
        """The place of the text at `path`; of its key, if it has none."""
        return _value_place(self.document.root, path)


def validate(document: Document, diagnostics: Diagnostics) -> Declaration | None:
    """The declaration without its wrong entries, which are reported; None if it has no usable name."""
    dropped: set[Path] = set()
    for _ in range(_MAX_ROUNDS):
        data = _plain(document.root, (), dropped)
        try:
            part = DeclarationPart.model_validate(data)
        except ValidationError as error:
            before = len(dropped)
            for problem in error.errors(include_url=False):
                dropped.add(_report(document, problem, diagnostics))
            if len(dropped) == before or ("op",) in dropped or () in dropped:
                return None
        else:
            return Declaration(document, part, frozenset(dropped))
    return None


def _plain(node: Node, path: Path, dropped: set[Path]) -> Any:
    if isinstance(node, MapNode):
        kept = ((key.value, value) for key, value in node if (*path, key.value) not in dropped)
        return {key: _plain(value, (*path, key), dropped) for key, value in kept}
    if isinstance(node, ListNode):
        # A dropped item becomes an empty mapping, so that the positions of the others stay.
        numbered = ((number, item) for number, item in enumerate(node.items))
        return [_plain(item, (*path, n), dropped) for n, item in numbered if (*path, n) not in dropped]
    return node


def _report(document: Document, problem: Any, diagnostics: Diagnostics) -> Path:
    """Report one problem; the path of the entry to leave out."""
    kind, context = str(problem["type"]), problem.get("ctx", {})
    path = _real_path(document.root, problem["loc"])
    place = _value_place(document.root, path)
    if kind == "extra_forbidden":
        name = str(problem["loc"][-1])
        known = _known_keys(problem["loc"][:-1])
        node = _node(document.root, path)
        quote = isinstance(node, TextNode) and node.is_empty and _in_flow(document.root, path)
        hint = _quoted(document.root, path) if quote else did_you_mean(name, known)
        message = f"unknown key `{name[:60]}`; possible keys: {', '.join(known)}"
        diagnostics.error("unknown-key", message, _key_place(document.root, path), hint)
    elif kind == "missing":
        message = f"the key `{problem['loc'][-1]}` must be given"
        diagnostics.error("missing-key", message, _key_place(document.root, path))
    elif kind in CODES:
        hint = did_you_mean(str(context["found"]), context["known"]) if "known" in context else None
        if context.get("instead"):
            hint = Suggestion(f"write `{context['instead']}`", Edit(context["instead"]))
        diagnostics.error(kind, str(context["message"]), place, hint)
    else:
        wanted = "a list" if "list" in kind else "a mapping"
        message = f"{wanted} is expected here, found {kind_of(problem['input'])}"
        diagnostics.error("wrong-kind", message, place)
    return path


def _real_path(root: Node, loc: Iterable[str | int]) -> Path:
    """The longest prefix of a location that names nodes of the document (shorthands have none)."""
    node, path = root, []
    for step in loc:
        found = _child(node, step)
        if found is None:
            break
        path.append(step)
        node = found
    return tuple(path)


def _child(node: Node, step: str | int) -> Node | None:
    if isinstance(node, MapNode) and isinstance(step, str):
        return node.get(step)
    if isinstance(node, ListNode) and isinstance(step, int) and step < len(node.items):
        return node.items[step]
    return None


def _node(root: Node, path: Path) -> Node:
    node = root
    for step in path:
        node = _child(node, step) or node
    return node


def _in_flow(root: Node, path: Path) -> bool:
    parent = _node(root, path[:-1])
    return isinstance(parent, MapNode) and parent.flow


def _quoted(root: Node, path: Path) -> str:
    """What to do about `shape: N, M` in braces, where `M` is read as a key: quote it with the text before it."""
    hint = f"quote the text before it: {QUOTE_HINT}"
    parent = _node(root, path[:-1])
    assert isinstance(parent, MapNode)
    keys = [key for key, _ in parent]
    at = next(number for number, key in enumerate(keys) if key.value == path[-1])
    end = at
    while end + 1 < len(keys) and _is_bare(parent.entries[end + 1]):
        end += 1
    first = parent.entries[at - 1][1] if at else None
    if (
        not isinstance(first, TextNode)
        or first.is_empty
        or first.scalar.style
        or first.place.line != keys[end].place.line
    ):
        return hint
    text = ", ".join([first.value, *(key.value for key in keys[at : end + 1])])
    place = replace(first.place, end_column=keys[end].place.end_column)
    return Suggestion(hint, Edit(f'"{text}"', place=place)) if not set(text) & {'"', "\\"} else hint


def _is_bare(entry: tuple[TextNode, Node]) -> bool:
    return isinstance(entry[1], TextNode) and entry[1].is_empty


def _value_place(root: Node, path: Path) -> Place:
    node = _node(root, path)
    if isinstance(node, TextNode) and not node.is_empty:
        return node.place
    return _key_place(root, path)


def _key_place(root: Node, path: Iterable[str | int]) -> Place:
    node, place = root, root.place
    for step in path:
        key = node.key(step) if isinstance(node, MapNode) and isinstance(step, str) else None
        found = _child(node, step)
        if found is None:
            break
        place = key.place if key is not None else found.place
        node = found
    return place


def _known_keys(loc: Iterable[str | int]) -> list[str]:
    """The keys that the model has at a location."""
    model: Any = DeclarationPart
    for step in loc:
        field = model.model_fields.get(step) if isinstance(step, str) else None
        if field is None:
            continue
        model = _part_of(field.annotation) or model
    return list(model.model_fields)


def _part_of(annotation: Any) -> Any:
    """The model class inside an annotation such as `dict[str, InputPart] | None`."""
    stack = [annotation]
    while stack:
        item = stack.pop()
        if hasattr(item, "model_fields"):
            return item
        stack += getattr(item, "__args__", ())
    return None
