"""Files of rewrites, read: located YAML to `RewriteDef`, with every mistake reported where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from opgen_runtime.base.errors import PassError
from opgen_runtime.declaration.pattern_text import parse_rule
from opgen_runtime.declaration.rewrites import OptionDef, RewriteDef, RuleDef

from ..diagnostics import Diagnostics, did_you_mean
from ..document import Document, ListNode, MapNode, Node, TextNode, read_documents
from ..sources import Source

_PASS_KEYS: Final = ("rewrite", "doc", "level", "decreases", "bound", "options", "rules")
_OPTION_KEYS: Final = ("doc", "bound")
_RULE_KEYS: Final = ("match", "when", "replace", "option", "ulp", "decreases", "samples")
_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]{1,62}")
_MAX_LEVEL: Final = 5
T = TypeVar("T")


def read_rewrites(source: Source, diagnostics: Diagnostics) -> tuple[RewriteDef, ...]:
    """The passes of a file, those without a mistake."""
    documents = read_documents(source.path, source.text, diagnostics)
    found = [_Reader(document, diagnostics).rewrite() for document in documents]
    return tuple(each for each in found if each is not None)


class _Reader:
    """Reads one document."""

    def __init__(self, document: Document, diagnostics: Diagnostics) -> None:
        self.document = document
        self.diagnostics = diagnostics

    def rewrite(self) -> RewriteDef | None:
        before = self.diagnostics.count
        root = self.document.root
        self.keys(root, _PASS_KEYS, ("rewrite", "doc", "decreases", "rules"), "a rewrite")
        name = self.text(root, "rewrite")
        if name and not _NAME.fullmatch(name):
            self.wrong(root, "rewrite", f"{name!r}: the name of a pass is like `DivToMul`", "bad-name")
        options = tuple(self.each_option(root.get("options")))
        decreases = tuple(self.words(root, "decreases"))
        rules = tuple(self.rules(root, options, decreases))
        level = self.number(root, "level", int, "0")
        if not 0 <= level <= _MAX_LEVEL:
            self.wrong(root, "level", f"levels are 0 to {_MAX_LEVEL}, found {level}", "bad-value")
        if self.diagnostics.count > before:
            return None
        line = root.place.line
        doc = self.text(root, "doc")
        path = self.document.path
        return RewriteDef(name, doc, level, decreases, options, rules, path, line, self.text(root, "bound"))

    def rules(self, root: MapNode, options: Sequence[OptionDef], decreases: Sequence[str]) -> list[RuleDef]:
        node = root.get("rules")
        if node is not None and not (isinstance(node, ListNode) and node.items):
            self.wrong(root, "rules", "expected a list of rules", "wrong-kind")
            return []
        return [
            self.rule(item, options, decreases)
            for item in (node.items if isinstance(node, ListNode) else ())
            if self.is_map(item, "a rule")
        ]

    def rule(self, node: Node, options: Sequence[OptionDef], decreases: Sequence[str]) -> RuleDef:
        assert isinstance(node, MapNode)
        self.keys(node, _RULE_KEYS, ("match", "replace"), "a rule")
        texts = {key: self.text(node, key) for key in ("match", "when", "replace", "option", "decreases")}
        for key, known, what in (
            ("option", [option.name for option in options], "options"),
            ("decreases", decreases, "measures"),
        ):
            if texts[key] and texts[key] not in known:
                shown = ", ".join(known) or "none"
                self.wrong(node, key, f"{texts[key]!r} is none of the pass's {what}: {shown}", "bad-value")
        ulp = self.number(node, "ulp", float, "0")
        made = RuleDef(**texts, ulp=ulp, samples=self.samples(node), line=node.place.line)
        if made.match and made.replace:
            try:
                parse_rule(made.match, made.replace, made.when, [option.name for option in options])
            except PassError as error:
                key = str(error).partition(":")[0]
                at = node.get(key if key in ("match", "when", "replace") else "match") or node
                self.diagnostics.error("syntax", str(error), at.place)
        return made

    def samples(self, node: MapNode) -> Mapping[str, tuple[str, ...]]:
        found = node.get("samples")
        if found is None or not self.is_map(found, "`samples`"):
            return {}
        assert isinstance(found, MapNode)
        return {key.value: tuple(self.words(found, key.value)) for key, _ in found}

    def each_option(self, node: Node | None) -> list[OptionDef]:
        if node is None or not self.is_map(node, "`options`"):
            return []
        assert isinstance(node, MapNode)
        found = []
        for key, value in node:
            if self.is_map(value, f"option `{key.value}`"):
                assert isinstance(value, MapNode)
                self.keys(value, _OPTION_KEYS, ("doc",), "an option")
                if not key.value.isidentifier():
                    self.diagnostics.error("bad-name", f"option {key.value!r} is no identifier", key.place)
                found.append(OptionDef(key.value, self.text(value, "doc"), self.text(value, "bound")))
        return found

    def keys(self, node: MapNode, known: Sequence[str], needed: Sequence[str], what: str) -> None:
        for key, _ in node:
            if key.value not in known:
                hint = did_you_mean(key.value, known)
                text = f"{what} has no key {key.value!r}; the keys are {', '.join(known)}"
                self.diagnostics.error("unknown-key", text, key.place, hint)
        for name in needed:
            if node.get(name) is None:
                self.diagnostics.error("missing-key", f"{what} needs the key {name!r}", node.place)

    def is_map(self, node: Node, what: str) -> bool:
        if isinstance(node, MapNode):
            return True
        self.diagnostics.error("wrong-kind", f"{what} is a mapping", node.place)
        return False

    def text(self, node: MapNode, key: str) -> str:
        found = node.get(key)
        if found is None:
            return ""
        if not isinstance(found, TextNode) or not found.value.strip():
            self.wrong(node, key, f"{key!r} is a text", "wrong-kind")
            return ""
        return found.value.strip()

    def words(self, node: MapNode, key: str) -> list[str]:
        """A text, or a list of texts."""
        found = node.get(key)
        items = found.items if isinstance(found, ListNode) else () if found is None else (found,)
        texts = [item.value.strip() for item in items if isinstance(item, TextNode)]
        if len(texts) < len(items) or (found is not None and not texts):
            self.wrong(node, key, f"{key!r} is a text, or a list of texts", "wrong-kind")
        return texts

    def number(self, node: MapNode, key: str, kind: Callable[[str], T], default: str) -> T:
        text = self.text(node, key) or default
        try:
            return kind(text)
        except ValueError:
            self.wrong(node, key, f"{key!r} is a number, found {text!r}", "bad-value")
            return kind(default)

    def wrong(self, node: MapNode, key: str, message: str, code: str) -> None:
        found = node.get(key)
        self.diagnostics.error(code, message, node.place if found is None else found.place)
