"""Diagnostics as SARIF 2.1.0 (OASIS), which code scanners of hosting services read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from urllib.parse import quote

from .codes import CODES
from .diagnostic import Diagnostic
from .place import Place


def to_sarif(diagnostics: Iterable[Diagnostic]) -> str:
    """One run; a rule for each code that occurs, columns counted in characters as in our places."""
    found = list(diagnostics)
    codes = sorted({finding.code for finding in found})
    driver = {
        "name": "opgen",
        "rules": [{"id": code, "shortDescription": {"text": CODES[code]}} for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes) for finding in found],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False)


def _result(finding: Diagnostic, codes: list[str]) -> dict[str, object]:
    text = f"{finding.message}; {finding.suggestion}" if finding.suggestion else finding.message
    made: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.severity,
        "message": {"text": text},
        "locations": [_location(finding.place)],
    }
    if finding.notes:
        made["relatedLocations"] = [
            {**_location(place), "message": {"text": note}} for note, place in finding.notes
        ]
    return made


def _location(place: Place) -> dict[str, object]:
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(place.path)}, "region": region}}


def _uri(path: str) -> str:
    return quote(path.replace("\\", "/"))
