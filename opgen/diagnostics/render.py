"""Diagnostics as text for people and as JSON for editors and CI."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from typing import Final

from .diagnostic import Diagnostic

_WIDTH = 160  # a longer source line is cut around the caret


def to_text(diagnostics: Iterable[Diagnostic]) -> str:
    """One block a finding, `file:line:column: error[code]: message`, the line and a caret below it."""
    return "\n".join(_block(finding) for finding in diagnostics)


def to_json(diagnostics: Iterable[Diagnostic]) -> str:
    """A JSON list with one object a finding; keys in a fixed order."""
    return json.dumps([_record(finding) for finding in diagnostics], indent=2, ensure_ascii=False)


def _block(finding: Diagnostic) -> str:
    place = finding.place
    lines = [f"{printable(str(place))}: {finding.severity}[{finding.code}]: {printable(finding.message)}"]
    if finding.line_text.strip():
        lines += _excerpt(finding)
    if finding.suggestion:
        lines.append(f"  = help: {printable(finding.suggestion)}")
    lines += [f"  = note: {printable(str(where))}: {printable(text)}" for text, where in finding.notes]
    return "\n".join(lines)


def _excerpt(finding: Diagnostic) -> list[str]:
    """The source line with a caret under the place, cut to a window when it is long."""
    place, text = finding.place, finding.line_text
    start = place.column - 1
    end = place.end_column - 1 if place.end_line == place.line else len(text)
    first = max(0, start - _WIDTH // 2) if len(text) > _WIDTH else 0
    shown = text[first : first + _WIDTH]
    pad = "".join("\t" if char == "\t" else " " * _cells(char) for char in shown[: start - first])
    marked = shown[start - first : max(min(end, first + len(shown)), start + 1) - first]
    count = max(1, sum(map(_cells, marked)))
    number = str(place.line)
    return [f"{number:>5} | {''.join(map(_shown, shown))}", f"      | {pad}^{'~' * (count - 1)}"]


def printable(text: str) -> str:
    """The text with control characters and line ends shown, so that a terminal obeys none of them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _SHORT.get(c) or _escaped(c) for c in text)


_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _shown(char: str) -> str:
    """One character of a source line; a tab stays, so that the line looks as it does in an editor."""
    return char if char.isprintable() or char == "\t" else _escaped(char)


def _escaped(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"


def _cells(char: str) -> int:
    """How many columns of a terminal a character takes."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else len(_shown(char))


def _record(finding: Diagnostic) -> dict[str, object]:
    place = finding.place
    return {
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
        "suggestion": finding.suggestion or None,
        "notes": [
            {"message": text, "path": where.path, "line": where.line, "column": where.column}
            for text, where in finding.notes
        ],
    }
