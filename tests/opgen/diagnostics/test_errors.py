"""One bad declaration for each code of a diagnostic, with the whole text that it gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opgen.analyse import check_project
from opgen.diagnostics import CODES, Diagnostic, to_json, to_sarif, to_text

HERE = Path(__file__).parent
BAD = sorted(HERE.glob("*.yaml"))
UNREACHED = {"compute"}  # the code of errors for which no declaration is known


def read(path: Path) -> list[Diagnostic]:
    return check_project({path.name: path.read_bytes().decode()})[1]


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_text(path: Path) -> None:
    """To accept new texts after a change: `python tests/opgen/diagnostics/test_errors.py`."""
    assert to_text(read(path)) + "\n" == path.with_suffix(".txt").read_text(encoding="utf-8")


def test_every_code_has_an_example() -> None:
    shown = {finding.code for path in BAD for finding in read(path)}
    assert shown == set(CODES) - UNREACHED


def test_all_files_at_once() -> None:
    chosen = ("yaml", "rank", "undefined", "stage")
    files = {path.name: path.read_bytes().decode() for path in BAD if path.stem in chosen}
    ops, found = check_project(files)
    assert ops == []
    assert {finding.place.path for finding in found} == set(files)
    alone = [finding for path in sorted(files) for finding in read(HERE / path)]
    assert [finding for finding in found if finding.code != "duplicate-op"] == alone


def test_sarif() -> None:
    found = [finding for name in ("duplicate-key", "rank") for finding in read(HERE / f"{name}.yaml")]
    log = json.loads(to_sarif(found))
    (run,) = log["runs"]
    assert (log["version"], run["columnKind"], len(run["results"])) == (
        "2.1.0",
        "unicodeCodePoints",
        len(found),
    )
    rules = run["tool"]["driver"]["rules"]
    for finding, result in zip(found, run["results"], strict=True):
        assert rules[result["ruleIndex"]] == {
            "id": finding.code,
            "shortDescription": {"text": CODES[finding.code]},
        }
        assert (result["ruleId"], result["level"]) == (finding.code, "error")
        (location,) = result["locations"]
        place = finding.place
        assert location["physicalLocation"] == {
            "artifactLocation": {"uri": place.path},
            "region": {
                "startLine": place.line,
                "startColumn": place.column,
                "endLine": place.end_line,
                "endColumn": place.end_column,
            },
        }
        assert len(result.get("relatedLocations", [])) == len(finding.notes)
    assert any("relatedLocations" in result for result in run["results"])
    assert json.loads(to_sarif([]))["runs"][0]["results"] == []


def test_json() -> None:
    records = json.loads(to_json(read(HERE / "out-of-bounds.yaml")))
    message = records[0].pop("message")
    assert message.startswith("cannot prove that index 0 of data is in bounds")
    assert records == [
        {
            "path": "out-of-bounds.yaml",
            "line": 5,
            "column": 12,
            "end_line": 5,
            "end_column": 23,
            "severity": "error",
            "code": "out-of-bounds",
            "suggestion": None,
            "notes": [],
        }
    ]


if __name__ == "__main__":
    for bad in BAD:
        bad.with_suffix(".txt").write_text(to_text(read(bad)) + "\n", encoding="utf-8")
