"""The facts of a declaration from its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..analyse.names.inherit import called_ops, digest
from ..diagnostics import Diagnostics
from ..document import Document, ListNode, Node, TextNode, read_documents
from ..sources import Source
from .outline import Facts

_EXTERN: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z_]\w*")


def read_facts(source: Source) -> tuple[Facts, ...] | None:
    """The facts of each document, in order; None where the file or a name in it cannot be read."""
    diagnostics = Diagnostics()
    found: list[Facts] = []
    for document in read_documents(source.path, source.text, diagnostics):
        name, parent = document.root.get("op"), document.root.get("extends")
        if not isinstance(name, TextNode) or not isinstance(parent, TextNode | None):
            return None
        found.append(_facts(document, name, None if parent is None else parent.value))
    return None if diagnostics.found or not found else tuple(found)


def _facts(document: Document, name: TextNode, parent: str | None) -> Facts:
    naming_ops = [document.root.get(key) for key in ("decompose", "grad", "upgrades")]
    called = {word for node in naming_ops for text in _texts(node) for word in _NAME.findall(text)}
    externs = dict.fromkeys(text for text in _texts(document.root) if _EXTERN.fullmatch(text))
    abstract = document.root.get("abstract")
    is_abstract = isinstance(abstract, TextNode) and abstract.value.lower() == "true"
    calls = tuple(sorted(called))
    expands = tuple(called_ops(document.root))
    return Facts(
        name.value,
        parent,
        is_abstract,
        digest(document.root),
        tuple(externs),
        calls,
        expands,
        name.place.line,
    )


def _texts(node: Node | None) -> Iterator[str]:
    """Every text of a document but its keys."""
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, TextNode):
            yield item.value.strip()
        elif isinstance(item, ListNode):
            stack += item.items
        elif item is not None:
            stack += [value for _, value in item]
