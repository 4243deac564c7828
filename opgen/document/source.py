"""Source files: text within limits, and where each character of a YAML scalar stands in its file."""

from __future__ import annotations

import re
from typing import Final

from opgen_runtime.base.vocabulary import dataclass

from ..diagnostics import Diagnostics, Edit, Place, Suggestion

MAX_FILE_CHARACTERS: Final = 1_000_000

_LINE = re.compile(r"\r\n|\n|\r")
# Control characters, line separators that editors and YAML disagree on, and characters that reorder text.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
_ESCAPES: Final = {"x": 4, "u": 6, "U": 10}  # characters of an escape in a double-quoted scalar


@dataclass(frozen=True, slots=True, eq=False)
class SourceFile:
    """The text of one file and its lines."""

    path: str
    text: str
    lines: tuple[str, ...]
    starts: tuple[int, ...]  # offset of each line in `text`

    def place(self, start: tuple[int, int], end: tuple[int, int]) -> Place:
        """The place between two (line, column) pairs that count from 0."""
        return Place(self.path, start[0] + 1, start[1] + 1, end[0] + 1, end[1] + 1)

    def offset(self, line: int, column: int) -> int:
        """The offset in `text` of a position that counts from 0."""
        return min(self.starts[line] + column if line < len(self.starts) else len(self.text), len(self.text))

    def position(self, offset: int, line: int) -> tuple[int, int]:
        """Line and column from 0 of an offset that lies on `line` or below."""
        while line + 1 < len(self.starts) and self.starts[line + 1] <= offset:
            line += 1
        return line, offset - self.starts[line]


def make_source(path: str, text: str, diagnostics: Diagnostics) -> SourceFile | None:
    """The file with its lines, or None (reported) if it is too large or holds characters that text does not."""
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_FILE_CHARACTERS:
        place = Place(path, 1, 1, 1, 2)
        diagnostics.error(
            "limit", f"the file has {len(text)} characters; at most {MAX_FILE_CHARACTERS} are read", place
        )
        return None
    starts = (0, *(match.end() for match in _LINE.finditer(text)))
    lines = tuple(_LINE.split(text))
    source = SourceFile(path, text, lines, starts)
    diagnostics.add_source(path, lines)
    bad = _FORBIDDEN.search(text)
    if bad is not None:
        at = source.position(bad.start(), 0)
        place = source.place(at, (at[0], at[1] + 1))
        text = f"the character U+{ord(bad.group()):04X} may not stand in a declaration"
        diagnostics.error("encoding", text, place, Suggestion("", Edit("")))
        return None
    return source


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """How one YAML scalar stands in its file: `style` is "" (plain), "'", '"', "|" or ">"."""

    source: SourceFile
    start: tuple[int, int]  # line and column from 0, at the quote or the block indicator
    end: tuple[int, int]
    style: str

    def positions(self, value: str) -> list[tuple[int, int]]:
        """(line, column) from 0 of every character of `value` and of its end."""
        if self.style == "|":
            return self._literal(value)
        return self._flow(value)

    def _literal(self, value: str) -> list[tuple[int, int]]:
        lines = self.source.lines
        first = self.start[0] + 1
        indents = [
            len(line) - len(line.lstrip(" ")) for line in lines[first : self.end[0] + 1] if line.strip(" ")
        ]
        texts = value.split("\n")
        own = next((len(text) - len(text.lstrip(" ")) for text in texts if text.strip(" ")), 0)
        indent = max(0, (indents[0] if indents else 0) - own)
        found: list[tuple[int, int]] = []
        for number, text in enumerate(texts):
            found += [(first + number, indent + column) for column in range(len(text) + 1)]
        return found

    def _flow(self, value: str) -> list[tuple[int, int]]:
        """Align the value with the raw text: white space is free, every other character must stand there."""
        source = self.source
        raw, at, line = source.text, source.offset(*self.start), self.start[0]
        stop = source.offset(*self.end)
        if self.style == ">":
            at = source.offset(self.start[0] + 1, 0)
        elif self.style:
            at, stop = at + 1, stop - 1
        found: list[tuple[int, int]] = []
        for char in value:
            if not char.isspace():
                at = _skip_space(raw, at, stop, self.style)
            line, column = source.position(min(at, stop), line)
            found.append((line, column))
            if not char.isspace() or (at < stop and raw[at].isspace()):
                at += _width(raw, at, self.style)
        line, column = source.position(min(at, stop), line)
        found.append((line, column))
        return found


def _skip_space(raw: str, at: int, stop: int, style: str) -> int:
    while at < stop and (raw[at].isspace() or (style == '"' and raw[at] == "\\" and raw[at + 1] in "\r\n")):
        at += 1 if raw[at].isspace() else 2
    return at


def _width(raw: str, at: int, style: str) -> int:
    """How many raw characters stand for one character of the value."""
    if style == '"' and raw[at : at + 1] == "\\":
        return _ESCAPES.get(raw[at + 1 : at + 2], 2)
    return 2 if style == "'" and raw[at : at + 2] == "''" else 1
