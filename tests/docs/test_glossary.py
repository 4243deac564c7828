"""The glossary is true: what it names is where it says, and no other class has the name."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.house import GENERATOR, RUNTIME

ROOT = Path(__file__).resolve().parents[2]
# Words that were used for what the glossary has another word for.
GONE = ("seam",)
# Folders and files whose names would stand for two things in one package.
ONCE = ("layout", "project", "glossary")


def _rows() -> list[list[str]]:
    lines = (ROOT / "docs" / "glossary.md").read_text().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][
        1:
    ]


def _sources() -> dict[Path, str]:
    ops = RUNTIME.folder / "ops"
    return {
        path: path.read_text()
        for package in (RUNTIME, GENERATOR)
        for path in sorted(package.folder.rglob("*.py"))
        if ops not in path.parents
    }


def test_what_is_named_is_there() -> None:
    classes = Counter(
        name for text in _sources().values() for name in re.findall(r"^class (\w+)", text, re.M)
    )
    for word, meaning, where in _rows():
        folders = [
            (ROOT if place.startswith("op") and not place.startswith("operator") else RUNTIME.folder) / place
            for place in re.findall(r"`([^`]+)`", where)
        ]
        assert folders or "](" in where, word
        texts: list[str] = []
        for folder in folders:
            assert folder.exists(), f"{word}: {folder} is not there"
            texts += [path.read_text() for path in ([folder] if folder.is_file() else folder.rglob("*.py"))]
        for name in re.findall(r"`(\w+)`", meaning):
            assert any(re.search(rf"^(class|def) {name}\b", text, re.M) for text in texts), f"{word}: {name}"
            if name in ("Bound", "Binding", "Op", "OpDeclaration", "Layout", "OpPattern", "Kernel", "Tracer"):
                assert classes[name] == 1, f"{word}: {classes[name]} classes are named {name}"


def test_words_that_are_gone() -> None:
    used = [
        f"{path}: {word}"
        for path, text in _sources().items()
        for word in GONE
        if re.search(rf"\b{word}s?\b", text)
    ]
    assert not used


def test_one_file_of_a_name() -> None:
    for package in (RUNTIME, GENERATOR):
        names = Counter(
            path.stem if path.is_file() else path.name
            for path in package.folder.rglob("*")
            if path.suffix in ("", ".py")
        )
        assert not [name for name in ONCE if names[name] > 1]


def test_where_things_go() -> None:
    """Each file that the table in docs/architecture.md names is there."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("## Where do I put")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 10
    for what, where, *_ in rows:
        places = [name for name in re.findall(r"`([\w<>./]+)`", where) if "/" in name and "<" not in name]
        for place in places:
            folders = (RUNTIME.folder, ROOT, ROOT / "runtime")
            assert any((folder / place).exists() for folder in folders), f"{what}: {place} is not there"


SMALL: Final = (
    "a kind of attr", "an element function", "a dtype", "a target", "a pass", "a rule of the scheduler",
    "a phase over loop IR", "an ONNX operator", "an emitter", "a diagnostic",
)  # fmt: skip


@pytest.mark.parametrize("what", SMALL)
def test_small_changes_are_small(what: str) -> None:
    """The table names the files to touch, at most three of them; of two that are joined by "or" one is touched."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {what}")]
    where = re.sub(r"\([^()]*\)", "", row.strip("|").split("|")[1]).partition("; a pair of files in `tests/")[
        0
    ]
    places = {name for name in re.findall(r"`([\w<>./]+)`", where) if "/" in name}
    assert 1 <= len(places) - where.count(" or of ") <= 3, places
