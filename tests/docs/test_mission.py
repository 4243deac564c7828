"""The table of docs/mission.md: each row once, each test that it names is there."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
ROWS: Final = {"A": 14, "B": 11, "C": 8, "D": 6}


def _rows() -> dict[str, list[str]]:
    """The cells of each row, by its name; a letter after the number is of a part that has a row of its own."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / "docs" / "mission.md").read_text(encoding="utf-8").splitlines():
        if re.match(r"\| [A-D]\d+[a-z]? \|", line):
            name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert name not in found, f"{name} stands twice"
            found[name] = cells
    return found


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_row_is_there() -> None:
    rows = list(_rows())
    whole = [row for row in rows if row[-1].isdigit()]
    assert whole == [f"{group}{n}" for group, count in ROWS.items() for n in range(1, count + 1)]
    for before, row in pairwise(rows):
        assert row[-1].isdigit() or row[:-1] == before.rstrip("abcdef"), f"{row} stands after {before}"


def test_every_test_that_is_named_is_there() -> None:
    for row, (_, state, shown) in _rows().items():
        files = re.findall(r"`(tests/[\w/]+\.py)`:((?: `test_\w+`,?)+)", shown)
        assert files or state.startswith("none"), f"{row}: nothing shows it, and its state is {state!r}"
        for file, names in files:
            known = _functions(ROOT / file)
            for name in re.findall(r"`(test_\w+)`", names):
                assert name in known, f"{row}: {file} has no {name}"


def test_a_state_says_what_is_missing() -> None:
    for row, (_, state, _) in _rows().items():
        assert re.match(r"works|partly: \w|none yet", state), f"{row}: {state}"
