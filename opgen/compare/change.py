"""One change of one op."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """What changed, as a code and a sentence, and whether callers of the old version can break by it."""

    op: str
    code: str
    text: str
    breaking: bool
