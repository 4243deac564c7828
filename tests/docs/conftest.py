"""Reads the pages of docs/: their fenced blocks, and what stands in a comment before each.

    <!-- error -->              the declaration below gives exactly the diagnostics of the `text` block after it
    <!-- base -->               the declaration below is in every project of the page, and is tested like any other
    <!-- file: PATH -->         the block below is written to PATH of the scratch project
    <!-- prints -->             the block below is what the `python` or `sh` block before it prints
    <!-- not run -->            the block below is only shown

Every other `yaml` block is a declaration that must generate and pass, every `values` block a table of expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.commands import main

DOCS = Path(__file__).parents[2] / "docs"
_FENCE = re.compile(
    r"^(?:<!--[ ]*(?P<note>[^>]*?)[ ]*-->\n+)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, the comment before it, and its line in the page."""

    page: str
    line: int
    language: str
    text: str
    note: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: str) -> list[Block]:
    text = (DOCS / page).read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start("text"))
        found.append(Block(page, line, match["language"], match["text"], match["note"] or ""))
    assert text.count("\n```") == 2 * len(found), f"{page}: a fence that is not understood"
    return found


def run(*arguments: str) -> str:
    """An `opgen` command in the current folder; its output. Fails where the command does."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, f"opgen {' '.join(arguments)}: {result.output}"
    return result.output


@pytest.fixture(scope="session")
def read_page() -> Callable[[str], list[Block]]:
    return blocks_of


@pytest.fixture(scope="session")
def opgen_command() -> Callable[..., str]:
    return run


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
