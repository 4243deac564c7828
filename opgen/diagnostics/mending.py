"""Fix-its: edits that findings propose, applied to the text of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from .diagnostic import Diagnostic
from .place import Place

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def mended(text: str, found: Iterable[Diagnostic]) -> tuple[str, list[str]]:
    """The text of a file with the fix-its of findings applied, and a line of what was done for each.

    Of fix-its that overlap one is applied: the others may be wrong by then, and are found again if they are not.
    """
    lines = _LINE.findall(text)
    taken: list[Place] = []
    notes: list[str] = []
    for each in sorted((each for each in found if each.fix), key=lambda each: each.place, reverse=True):
        span = _span([place for place, _ in each.fix])
        if any(_meet(span, other) for other in taken):
            continue
        taken.append(span)
        line, after, at = lines[span.line - 1], "", span.column
        for place, piece in sorted(each.fix):
            after += line[at - 1 : place.column - 1] + piece
            at = place.end_column
        notes.append(f"{span}: `{line[span.column - 1 : span.end_column - 1]}` is now `{after}`")
        lines[span.line - 1] = line[: span.column - 1] + after + line[span.end_column - 1 :]
    return "".join(lines), notes[::-1]


def _span(places: Sequence[Place]) -> Place:
    """All of the line from the first of these pieces of it to the last."""
    return replace(min(places), end_column=max(place.end_column for place in places))


def _meet(place: Place, other: Place) -> bool:
    return place.line == other.line and place.column <= other.end_column and other.column <= place.end_column
