"""What `Attrs.visit_fields` and `Attrs.visit_non_default` call."""

from __future__ import annotations

from typing import Protocol


class AttrVisitor(Protocol):
    """Called for every field, in order of declaration."""

    def visit(self, name: str, kind: str, value: object) -> None: ...


class NonDefaultVisitor(Protocol):
    """Called for each field whose value differs from its default (a required field always does)."""

    def visit(self, name: str, kind: str, value: object) -> None: ...
