"""Mutants that mean the same as the original, with the reason.  Each entry: op, part, beginning of the change."""

from __future__ import annotations

from typing import Final

EQUIVALENT: Final[dict[tuple[str, str, str], str]] = {
    ("argwhere", "compute", "0 -> 1 in `out[r, d] = 0`"): "the rows from `n` on are cut off",
    ("masked_select", "compute", "0 -> 1 in `cast(0, T)`"): "the elements from `n` on are cut off",
}


def why_equivalent(op: str, part: str, change: str) -> str | None:
    """Why a change of an op means the same; None if it does not."""
    for (name, where, start), reason in EQUIVALENT.items():
        if op == name and part == where and change.startswith(start):
            return reason
    return None
