"""The table of errors in docs/reliability.md holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import ulp

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"


def table() -> dict[str, dict[str, float]]:
    """Op -> dtype -> the bound in ULP that the page states."""
    text = PAGE.read_text()
    rows = re.findall(
        r"^\| ([a-z0-9_ ()]+) \| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) \|$", text, re.M
    )
    return {row[0]: dict(zip(ulp.DTYPES, map(float, row[1:]), strict=True)) for row in rows}


def test_the_table_names_every_function() -> None:
    assert list(table()) == list(ulp.EXACT)


@pytest.mark.parametrize("name", ulp.EXACT)
def test_bounds_hold(name: str) -> None:
    for dtype, bound in table()[name].items():
        operand, result, error = ulp.worst(name, dtype, 60)
        assert error <= bound, (
            f"{name}({operand!r}) in {dtype}: {result!r} is {error:.2f} ULP off, at most {bound}"
        )
