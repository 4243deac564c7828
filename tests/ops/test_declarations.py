"""Declarations stay short enough to be read at once."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest

OPDEFS = Path(__file__).parents[2] / "opdefs"


def definition(document: str) -> list[str]:
    """The lines of a declaration that say what the op is: without its reference, its tests, its implementations."""
    kept = re.sub(r"^(reference|tests|strategy):.*?(?=^\S|\Z)", "", document, flags=re.MULTILINE | re.DOTALL)
    return [line for line in kept.splitlines() if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("name", ["conv2d", "lstm", "attention"])
def test_hard_ops_fit_one_screen(name: str) -> None:
    assert len(definition((OPDEFS / "nn" / f"{name}.yaml").read_text())) <= 40


def test_the_median_declaration_has_at_most_15_lines() -> None:
    documents = [
        document
        for path in sorted(OPDEFS.glob("*/*.yaml"))
        for document in re.split(r"^---$", path.read_text(), flags=re.MULTILINE)
    ]
    lengths = [
        len([line for line in definition(document) if not line.startswith("doc:")]) for document in documents
    ]
    assert statistics.median(lengths) <= 15
