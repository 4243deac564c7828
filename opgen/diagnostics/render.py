"""Diagnostics as text for people and as JSON for editors and CI."""

from __future__ import annotations

import json
from collections.abc import Iterable

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
    lines = [f"{place}: {finding.severity}[{finding.code}]: {_printable(finding.message)}"]
    if finding.line_text.strip():
        lines += _excerpt(finding)
    if finding.suggestion is not None:
        lines.append(f"  = help: {_printable(finding.suggestion)}")
    lines += [f"  = note: {where}: {_printable(text)}" for text, where in finding.notes]
    return "\n".join(lines)


def _excerpt(finding: Diagnostic) -> list[str]:
    """The source line with a caret under the place, cut to a window when it is long."""
    place, text = finding.place, finding.line_text
    start = place.column - 1
    end = place.end_column - 1 if place.end_line == place.line else len(text)
    first = max(0, start - _WIDTH // 2) if len(text) > _WIDTH else 0
    shown = text[first : first + _WIDTH]
    pad = "".join("\t" if char == "\t" else " " for char in shown[: start - first])
    count = max(1, min(end, first + len(shown)) - start)
    number = str(place.line)
    return [f"{number:>5} | {_printable(shown)}", f"      | {pad}^{'~' * (count - 1)}"]


def _printable(text: str) -> str:
    """The text with control characters shown, so that a terminal obeys none of them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\t\n" else f"\\x{ord(c):02x}" for c in text)


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
        "suggestion": finding.suggestion,
        "notes": [
            {"message": text, "path": where.path, "line": where.line, "column": where.column}
            for text, where in finding.notes
        ],
    }
