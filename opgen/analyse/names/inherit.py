"""`extends:` resolved: each document with the entries of its ancestors merged in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from opgen_runtime.base.vocabulary import dataclass

from ...diagnostics import Diagnostics, did_you_mean
from ...digests import chain_digest
from ...document import Document, ListNode, MapNode, Node, TextNode
from ...expression.vocabulary import OPS

OWN: Final = ("op", "abstract", "extends", "operator", "deprecated", "since", "version", "upgrades", "doc")
"""Keys that a child never takes over."""

MAX_GENERATIONS: Final = 16
_ALTERNATIVES: Final = {
    "compute": "composed",
    "composed": "compute",
}  # a child's takes the place of a parent's
_OP_CALL: Final = re.compile(rf"\b{OPS}\s*\.\s*([A-Za-z_]\w*)")
_CALL: Final = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_MARKED: Final = frozenset({"", "None", "none", "null", "~"})  # which mean something else in quotes


@dataclass(frozen=True, slots=True)
class Ancestry:
    """What `extends` resolved to."""

    names: tuple[str, ...]  # nearest first
    digest: str  # of the document, of what it extends and of what it calls


def by_name(documents: list[Document], diagnostics: Diagnostics) -> dict[str, Document]:
    """Documents by the name of their op; a second one of the same name is reported and left out."""
    found: dict[str, Document] = {}
    for document in documents:
        name = document.root.get("op")
        if not isinstance(name, TextNode):
            continue
        before = found.get(name.value)
        if before is None:
            found[name.value] = document
            continue
        first = before.root.get("op")
        assert first is not None
        text = f"the op `{name.value[:60]}` is declared twice"
        diagnostics.error("duplicate-op", text, name.place, None, [("first declared here", first.place)])
    return found


def inherit(
    document: Document, known: Mapping[str, Document], diagnostics: Diagnostics
) -> tuple[Document, Ancestry] | None:
    """The document merged with its ancestors, or None (reported)."""
    chain = [document.root]
    names: list[str] = []
    own = document.root.get("op")
    seen = {own.value} if isinstance(own, TextNode) else set()
    while True:
        parent = chain[-1].get("extends")
        if parent is None:
            break
        if not isinstance(parent, TextNode):
            return None if chain[-1] is not document.root else (document, _ancestry(chain, names, known))
        found = known.get(parent.value)
        if found is None:
            hint = did_you_mean(parent.value, [name for name in known if name not in seen])
            text = f"there is no declaration of `{parent.value[:60]}` to extend"
            diagnostics.error("extends", text, parent.place, hint)
            return None
        if parent.value in seen:
            diagnostics.error("extends", f"`{parent.value}` extends itself", parent.place)
            return None
        if len(names) == MAX_GENERATIONS:
            text = f"a declaration has at most {MAX_GENERATIONS} ancestors"
            diagnostics.error("extends", text, parent.place)
            return None
        seen.add(parent.value)
        names.append(parent.value)
        chain.append(found.root)
    merged: MapNode = chain[-1]
    for child in reversed(chain[:-1]):
        merged = merge(merged, child, OWN)
    return Document(document.path, document.index, merged), _ancestry(chain, names, known)


def _ancestry(chain: list[MapNode], names: list[str], known: Mapping[str, Document]) -> Ancestry:
    used = [*chain, *_called(chain, known)]
    return Ancestry(tuple(names), chain_digest([digest(root) for root in used]))


def called_ops(root: MapNode) -> list[str]:
    """The names of ops that a document may call to compute, as a glance at the text shows them."""
    texts = [(root.get("compute"), _OP_CALL), (root.get("composed"), _CALL)]
    decompose = root.get("decompose")
    entries = decompose.items if isinstance(decompose, ListNode) else ()
    texts += [(entry.get("into"), _CALL) for entry in entries if isinstance(entry, MapNode)]
    return sorted(
        {name for node, call in texts if isinstance(node, TextNode) for name in call.findall(node.value)}
    )


def _called(chain: list[MapNode], known: Mapping[str, Document]) -> list[MapNode]:
    """The documents of the ops that are called, with those that they extend and call."""
    found = list(chain)
    for root in found:
        parent = root.get("extends")
        above = [parent.value] if isinstance(parent, TextNode) else []
        roots = [known[name].root for name in (*above, *called_ops(root)) if name in known]
        found += [each for each in roots if not any(each is other for other in found)]
    return found[len(chain) :]


def digest(root: MapNode) -> str:
    """A digest of one document by itself, the same however it is laid out."""
    return hashlib.sha256(canonical(root).encode()).hexdigest()


def merge(parent: MapNode, child: MapNode, own: tuple[str, ...] = ()) -> MapNode:
    """The child's entries over the parent's, mapping by mapping; entries named in `own` are not taken over."""
    replaced = {*own, *[_ALTERNATIVES[key.value] for key, _ in child if own and key.value in _ALTERNATIVES]}
    entries: dict[str, tuple[TextNode, Node]] = {
        k.value: (k, v) for k, v in parent if k.value not in replaced
    }
    for key, value in child:
        before = entries[key.value][1] if key.value in entries else None
        if isinstance(before, MapNode) and isinstance(value, MapNode):
            value = merge(before, value)
        entries[key.value] = (key, value)
    return MapNode(tuple(entries.values()), child.place, child.flow)


def canonical(node: Node) -> str:
    """Unambiguous text of a document, the same however it is laid out."""
    if isinstance(node, TextNode):
        means_itself = node.scalar.style and node.value.strip() in _MARKED
        return f"!{node.value!r}" if means_itself else repr(node.value)
    if isinstance(node, ListNode):
        return "[" + ",".join(map(canonical, node.items)) + "]"
    return "{" + ",".join(f"{key.value!r}:{canonical(value)}" for key, value in node) + "}"
