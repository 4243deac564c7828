"""What `visit_fields` of attrs, types and graph nodes, and `Attrs.visit_non_default`, call.

`kind` is a kind of attrs (`kinds.py`); of graph nodes an "object" is also a node or an op, an "array" holds nodes, and
there are two kinds more: "tensor" (an array of elements) and "map" (a mapping from names).
"""

from __future__ import annotations

from typing import Protocol


class AttrVisitor(Protocol):
    """Called for every field, in order of declaration."""

    def visit(self, name: str, kind: str, value: object) -> None: ...


class NonDefaultVisitor(Protocol):
    """Called for each field whose value differs from its default (a required field always does)."""

    def visit(self, name: str, kind: str, value: object) -> None: ...
