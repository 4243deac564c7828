"""YAML text to located nodes, from the events of PyYAML's C parser.

Events are composed here and not by a loader, so that nothing recurses on the input, no tag is ever
resolved or constructed, and an alias cannot be expanded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from ..diagnostics import Diagnostics, Edit, Place, Suggestion
from .node import Document, ListNode, MapNode, Node, TextNode
from .source import Scalar, SourceFile

MAX_DEPTH: Final = 16
MAX_NODES: Final = 50_000
MAX_ITEMS: Final = 1_000  # of one list or mapping
QUOTE_HINT: Final = (
    "in braces and brackets, text with `,`, `[`, `]`, `{`, `}`, `*`, `: ` or quotes must itself be quoted"
)


class _Stop(Exception):
    """The rest of the file cannot be read; what stands before it is kept."""


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been seen."""

    start: Any
    is_map: bool
    flow: bool
    items: list[Node] = field(default_factory=list)


def compose(source: SourceFile, diagnostics: Diagnostics) -> list[Document]:
    """All documents of a file that can be read; every problem is reported."""
    return _Composer(source, diagnostics).run()


class _Composer:
    def __init__(self, source: SourceFile, diagnostics: Diagnostics) -> None:
        self.source = source
        self.diagnostics = diagnostics
        self.stack: list[_Open] = []
        self.count = 0
        self.number = -1
        self.documents: list[Document] = []
        self.root: Node | None = None

    def run(self) -> list[Document]:
        try:
            for event in yaml.parse(self.source.text, Loader=yaml.CSafeLoader):
                self._event(event)
        except yaml.MarkedYAMLError as error:
            self._yaml_error(error)
        except (yaml.YAMLError, RecursionError, UnicodeError) as error:
            place = Place(self.source.path, 1, 1, 1, 2)
            self.diagnostics.error("yaml", f"the file is not YAML: {str(error)[:200]}", place)
        except _Stop:
            pass
        return self.documents

    def _event(self, event: Any) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self.number += 1
            self.root = None
        elif isinstance(event, yaml.DocumentEndEvent):
            self._document()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.ScalarEvent):
            self._check_node(event)
            self._add(self._text(event))
        elif isinstance(event, yaml.CollectionStartEvent):
            self._check_node(event)
            self.stack.append(_Open(event, isinstance(event, yaml.MappingStartEvent), bool(event.flow_style)))
            if len(self.stack) > MAX_DEPTH:
                self._fail("limit", f"nested more than {MAX_DEPTH} deep", event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close(event)

    def _check_node(self, event: Any) -> None:
        self.count += 1
        if self.count > MAX_NODES:
            self._fail("limit", f"more than {MAX_NODES} values in one file", event)
        if event.anchor is not None:
            place = self._place(event)
            self.diagnostics.error(
                "tag", f"the anchor `&{event.anchor[:40]}` is not used in declarations", place, QUOTE_HINT
            )
        if event.tag is not None:
            place = self._place(event)
            text = f"the tag `{event.tag[:60]}` is not used in declarations: every value is text"
            self.diagnostics.error("tag", text, place)

    def _alias(self, event: Any) -> None:
        text = f"`*{event.anchor[:40]}` is read as a YAML alias, which declarations do not use"
        quoted = f'"*{event.anchor[:40]}"'
        hint = Suggestion(f"quote the text: {quoted}", Edit(quoted, before=f"*{event.anchor}"))
        self.diagnostics.error("tag", text, self._place(event), hint)
        self._add(TextNode("", self._place(event), Scalar(self.source, *self._marks(event), "'")))

    def _text(self, event: Any) -> TextNode:
        start, end = self._marks(event)
        style = "" if event.style in (None, "") else str(event.style)
        if style in "|>" and style:
            lines = event.value.rstrip("\n").count("\n")
            place = self.source.place(start, (start[0], start[1] + 1))
            end = max(end, (start[0] + 1 + lines, 0))
        else:
            place = self.source.place(start, end if end > start else (start[0], start[1] + 1))
        return TextNode(event.value, place, Scalar(self.source, start, end, style))

    def _add(self, node: Node) -> None:
        if self.stack:
            opened = self.stack[-1]
            opened.items.append(node)
            if len(opened.items) > MAX_ITEMS * (1 + opened.is_map):
                what = "a mapping" if opened.is_map else "a list"
                self.diagnostics.error("limit", f"{what} of more than {MAX_ITEMS} entries", node.place)
                raise _Stop
        else:
            self.root = node

    def _close(self, event: Any) -> None:
        done = self.stack.pop()
        start, _ = self._marks(done.start)
        place = self.source.place(start, self._marks(event)[1] if done.flow else (start[0], start[1] + 1))
        self._add(self._mapping(done, place) if done.is_map else ListNode(tuple(done.items), place))

    def _mapping(self, done: _Open, place: Place) -> MapNode:
        entries: dict[str, tuple[TextNode, Node]] = {}
        for key, value in zip(done.items[::2], done.items[1::2], strict=True):
            if not isinstance(key, TextNode):
                self.diagnostics.error("wrong-kind", "a key must be text", key.place, QUOTE_HINT)
            elif key.value in entries:
                first = entries[key.value][0].place
                self.diagnostics.error(
                    "duplicate-key",
                    f"the key `{key.value[:60]}` is given twice",
                    key.place,
                    None,
                    [("first given here", first)],
                )
            else:
                entries[key.value] = (key, value)
        return MapNode(tuple(entries.values()), place, done.flow)

    def _document(self) -> None:
        root = self.root
        if isinstance(root, MapNode):
            self.documents.append(Document(self.source.path, self.number, root))
        elif root is not None and not (isinstance(root, TextNode) and root.is_empty):
            self.diagnostics.error(
                "wrong-kind", "a declaration is a mapping that begins with `op: <name>`", root.place
            )

    def _fail(self, code: str, message: str, event: Any) -> None:
        self.diagnostics.error(code, message, self._place(event))
        raise _Stop

    def _marks(self, event: Any) -> tuple[tuple[int, int], tuple[int, int]]:
        start, end = event.start_mark, event.end_mark
        return (start.line, start.column), (end.line, end.column)

    def _place(self, event: Any) -> Place:
        start, end = self._marks(event)
        return self.source.place(start, end if end > start else (start[0], start[1] + 1))

    def _yaml_error(self, error: yaml.MarkedYAMLError) -> None:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark is not None else (0, 0)
        line = min(line, len(self.source.lines) - 1)
        place = self.source.place((line, column), (line, column + 1))
        problem = error.problem or "the text is not YAML"
        if "nesting depth" in problem:  # the scanner's own limit, which looks ahead of the events
            self.diagnostics.error("limit", f"nested more than {MAX_DEPTH} deep", place)
            return
        inside = any(opened.flow for opened in self.stack)
        hint = QUOTE_HINT if inside or "flow" in f"{error.context}" else _hint(problem)
        self.diagnostics.error("yaml", problem, place, hint)


def _hint(problem: str) -> str | None:
    if "mapping values are not allowed" in problem:
        return "text that holds `: ` must be quoted"
    if "tab" in problem or "cannot start any token" in problem:
        return "indent with spaces, and quote text that begins with a special character"
    return None
