"""The page on the architecture says where each kind of thing is put, at paths that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
KINDS: Final = (
    "an op",
    "a function of the language",
    "an element function",
    "a kind of attr",
    "a dtype",
    "a target",
    "a machine",
    "a pass",
    "a phase over loop IR",
    "a node of loop IR",
    "a rule of the scheduler",
    "a primitive of schedules",
    "a rule of plans",
    "an ONNX operator",
    "a front end",
    "a function of numpy under `jit`",
    "an emitter",
    "a diagnostic",
    "a command",
    "a check",
    "a bridge to another framework",
)
ROWS: Final = [
    line.strip("| ").split(" | ")
    for line in PAGE.partition("## Where do I put ...")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| ...")
]
PATH: Final = re.compile(r"`((?:[\w<>*.-]+/)+[\w<>*.-]*)`")

#: two pages; what is longer is a page of its own (docs/decisions.md, docs/one-call.md)
MAX_LINES: Final = 130
MAX_WIDTH_OF_PROSE: Final = 150


def test_two_pages() -> None:
    lines = PAGE.splitlines()
    assert len(lines) <= MAX_LINES
    assert [line for line in lines if len(line) > MAX_WIDTH_OF_PROSE and not line.startswith("|")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_newcomer_finds_the_place(kind: str) -> None:
    assert any(row[0].startswith(kind) for row in ROWS)


def test_places_are_there() -> None:
    """`<name>` stands for any name; paths are of the repository or of the runtime."""
    found = [path for row in ROWS for path in PATH.findall(row[1])]
    assert len(found) > len(ROWS)
    missing = []
    for path in found:
        pattern = re.sub(r"<\w+>", "*", path).rstrip("/")
        roots = (ROOT, ROOT / "runtime" / "opgen_runtime")
        if "<tool>" not in path and not any(next(root.glob(pattern), None) for root in roots):
            missing.append(path)
    assert missing == []
