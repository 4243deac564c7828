"""One finding about a declaration, and the collection of all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final, NamedTuple, Self

from .codes import CODES
from .place import Place

_LONGEST: Final = 1000  # characters of a message; values that it shows may be of any length


class Edit(NamedTuple):
    """`after` is written in place of `before`, where that stands once in `place`; without it, of all that stands there.

    Without a `place` it is that of the finding.
    """

    after: str
    before: str = ""
    place: Place | None = None

    def within(self, place: Place, line: str) -> tuple[Place, str] | None:
        """What is replaced in a finding's place, by what; None if that is not on its line, or not clear."""
        own, place = place, self.place or place
        if not own.line == place.line == place.end_line:
            return None
        if self.before:
            pattern = (
                rf"(?<!\w){re.escape(self.before)}(?!\w)"
                if self.before.isidentifier()
                else re.escape(self.before)
            )
            found = list(re.finditer(pattern, line[place.column - 1 : place.end_column - 1]))
            if len(found) != 1:
                return None
            start, end = (place.column + at for at in found[0].span())
            place = replace(place, column=start, end_column=end)
        return place, self.after


class Suggestion(str):
    """A hint that says what to write instead, and the edits that do; without a text, where the message says it all."""

    __slots__ = ("edits",)
    edits: tuple[Edit, ...]

    def __new__(cls, text: str, *edits: Edit) -> Self:
        made = super().__new__(cls, text)
        made.edits = edits
        return made

    def __getnewargs__(self) -> tuple[str, *tuple[Edit, ...]]:  # type: ignore[override]  # for pickle, as __new__ takes them
        return str(self), *self.edits


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error (or warning) at one place.

    `code` is a key of `codes.CODES`; `line_text` the source line of the place without its newline; `suggestion`
    a complete hint such as "did you mean `default`?"; `notes` further places with a text each.
    """

    code: str
    message: str
    place: Place
    line_text: str = ""
    suggestion: str | None = None
    severity: str = "error"
    notes: tuple[tuple[str, Place], ...] = ()

    @property
    def fix(self) -> tuple[tuple[Place, str], ...]:
        """What mends it, where that follows from the finding: pieces of its line, each with what to write there."""
        if not isinstance(self.suggestion, Suggestion):
            return ()
        found = [edit.within(self.place, self.line_text) for edit in self.suggestion.edits]
        pieces = tuple(each for each in found if each is not None)
        return pieces if len(pieces) == len(found) else ()

    @property
    def is_error(self) -> bool:
        return self.severity == "error"


@dataclass(slots=True)
class Diagnostics:
    """Collects findings; `sources` maps a path to its lines, for the source line of each finding."""

    sources: dict[str, Sequence[str]] = field(default_factory=dict)
    found: list[Diagnostic] = field(default_factory=list)
    count: int = 0  # how often an error was reported, repetitions included
    _seen: set[tuple[Place, str]] = field(default_factory=set)

    def add_source(self, path: str, lines: Sequence[str]) -> None:
        """The lines of a file, for the source line of each finding."""
        self.sources[path] = lines

    def error(
        self,
        code: str,
        message: str,
        place: Place,
        suggestion: str | None = None,
        notes: Iterable[tuple[str, Place]] = (),
    ) -> None:
        """Record an error.  The same code at the same place is kept once."""
        assert code in CODES, code
        self.count += 1
        if len(message) > _LONGEST:
            message = f"{message[:_LONGEST]}..."
        lines = self.sources.get(place.path, ())
        line = lines[place.line - 1] if 0 < place.line <= len(lines) else ""
        if (place, code) not in self._seen:
            self._seen.add((place, code))
            self.found.append(Diagnostic(code, message, place, line, suggestion, "error", tuple(notes)))

    @property
    def failed(self) -> bool:
        return any(finding.is_error for finding in self.found)

    def sorted(self) -> list[Diagnostic]:
        """All findings by file, line and column."""
        return sorted(self.found, key=lambda finding: (finding.place, finding.code))


def did_you_mean(name: str, known: Iterable[str]) -> Suggestion | None:
    """ "did you mean `default`?" for the nearest known name, None where none is near."""
    near = get_close_matches(name[:80], list(known), n=1, cutoff=0.6)
    return meant(name, near[0]) if near else None


def meant(name: str, known: str) -> Suggestion:
    """ "did you mean `default`?", which is to be written where `name` stands."""
    return Suggestion(f"did you mean `{known}`?", Edit(known, before=name))
