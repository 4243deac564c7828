"""One finding about a declaration, and the collection of all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final, Self

from .codes import CODES
from .place import Place

_SPELT: Final = frozenset({"unknown-key", "unknown-name", "bad-value", "extends", "pattern-mismatch"})
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_LONGEST: Final = 1000  # characters of a message; values that it shows may be of any length


class Suggestion(str):
    """A hint that says what to write instead: `replacement`, in the place of the finding."""

    __slots__ = ("replacement",)
    replacement: str

    def __new__(cls, text: str, replacement: str) -> Self:
        made = super().__new__(cls, text)
        made.replacement = replacement
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # for pickle, as __new__ takes them
        return str(self), self.replacement


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
    def fix(self) -> str | None:
        """What mends it, written in its place, where that is a matter of spelling; the place is on one line."""
        is_word = _WORD.fullmatch(self.line_text[self.place.column - 1 : self.place.end_column - 1])
        if self.code not in _SPELT or not isinstance(self.suggestion, Suggestion) or is_word is None:
            return None
        return self.suggestion.replacement if self.place.line == self.place.end_line else None

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
    return Suggestion(f"did you mean `{near[0]}`?", near[0]) if near else None
