"""What `python -m benchmarks.zoo` draws, and what it prints of what was measured; no library of models is needed."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from benchmarks.models import difference
from benchmarks.zoo.__main__ import drawn
from benchmarks.zoo.report import HEAD, Measured, Side, summary

MIB = 2**20
QUICK = Measured(
    "timm quick", Side(0.001, 0.5, 100 * MIB), Side(0.001, 1.0, 200 * MIB), Side(0.002, 0.5, 100 * MIB), 1e-6
)
WRONG = Measured(
    "timm wrong", Side(0.004, 1.0, 400 * MIB), Side(0.004, 9.0, 200 * MIB), Side(0.002, 0.5, 100 * MIB), 1e-2
)


def test_libraries_take_turns_in_an_order_of_the_seed() -> None:
    names = {"a": [f"a{n}" for n in range(20)], "b": ["b0"]}
    found = list(drawn(7, names))
    assert [library for library, _ in found[:4]] == ["a", "b", "a", "a"]
    assert sorted(name for _, name in found) == sorted([*names["a"], *names["b"]])
    assert found == list(drawn(7, names))
    assert found != list(drawn(8, names))
    assert list(islice(drawn(7, {}), 1)) == []


def test_rows_and_summary() -> None:
    assert [len(line.split("|")) for line in (*HEAD, QUICK.row)] == [15, 15, 15]
    assert QUICK.row == (
        "| timm quick | 1.00 | 2.00 | 0.50 | 1e-06 | 1.00 | 0.50 | 2.0 | 1.00 | 200 | 100 | 2.00 | 1.00 |"
    )
    assert "| **1e-02** |" in WRONG.row
    assert summary([QUICK, WRONG]) == [
        "1 of 2 right to 2e-04 of the largest output, 1 level or ahead.",
        "",
        "| ours over onnxruntime's | geometric mean | goal | worst | goal | of | holds |",
        "|---|---:|---:|---:|---:|---|---|",
        "| time of a run | 1.00 | 0.82 | 2.00 | 1.05 | timm wrong | no |",
        "| first result without a cache | 6.00 | 4 | 18.00 | 8 | timm wrong | no |",
        "| first result from the cache | 1.41 | 0.8 | 2.00 |  | timm wrong | no |",
        "| peak memory without a cache | 2.00 | 1.4 | 2.00 |  | timm quick | no |",
        "| peak memory from the cache | 2.00 | 1 | 4.00 |  | timm wrong | no |",
    ]
    assert summary([])[0].startswith("0 of 0 right")


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([1.0, 2.0], [1.0, 4.0], 0.5),
        ([np.nan, 4.0], [np.nan, 4.0], 0.0),
        ([np.inf, 3.0], [np.inf, 4.0], 0.25),
        ([np.nan, 4.0], [1.0, 4.0], np.inf),
        ([1.0, np.inf], [1.0, 4.0], np.inf),
    ],
)
def test_a_difference_is_a_share_of_the_largest(
    tmp_path: Path, ours: list[float], theirs: list[float], expected: float
) -> None:
    np.savez(tmp_path / "ours.npz", np.array(ours, np.float32))
    np.savez(tmp_path / "theirs.npz", np.array(theirs, np.float32))
    assert difference(tmp_path, "ours", "theirs") == expected
