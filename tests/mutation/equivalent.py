"""Mutants that mean the same as the original, with the reason.  Each entry: op, part, beginning of the change."""

from __future__ import annotations

from typing import Final

EQUIVALENT: Final[dict[tuple[str, str, str], str]] = {}


def why_equivalent(op: str, part: str, change: str) -> str | None:
    """Why a change of an op means the same; None if it does not."""
    for (name, where, start), reason in EQUIVALENT.items():
        if op == name and part == where and change.startswith(start):
            return reason
    return None
