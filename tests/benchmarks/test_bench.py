"""The report of `scripts/bench`: figures of rows, reasons of those that are behind, and the picture."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree

import pytest
import yaml

from benchmarks.bench import report
from benchmarks.bench.machine import Roofs
from benchmarks.bench.roofline import Point, picture
from benchmarks.bench.workers import ROOT, Row, Timing, workload_names


def row(name: str, **milliseconds: float) -> Row:
    return Row(name, {peer: Timing(ms / 1e3, ms / 1e3) for peer, ms in milliseconds.items()}, {})


ROWS = (row("ahead", numpy=4, torch=2, ours=1), row("behind", numpy=3, ours=4), row("alone", ours=1))


def test_the_ratio_is_to_the_best_of_the_others() -> None:
    assert [each.best for each in ROWS] == ["torch", "numpy", None]
    assert [each.ratio for each in ROWS] == [2.0, 0.75, None]


def test_report() -> None:
    assert report.table(ROWS, ["numpy", "torch", "ours"]) == [
        "| row | numpy | torch | ours | ratio |",
        "|---|---:|---:|---:|---:|",
        "| ahead | 4 | **2** | 1 | 2.00 |",
        "| behind | **3** |  | 4 | 0.75 |",
        "| alone |  |  | 1 |  |",
    ]
    assert report.summary(ROWS) == (
        "1 of 2 rows level with the best peer or ahead (0.97 or better), geometric mean 1.22, least 0.75"
    )


@pytest.mark.parametrize(
    ("reasons", "said"), [({"behind": "it waits"}, "it waits"), ({}, report.UNEXPLAINED)]
)
def test_a_row_that_is_behind_has_its_reason(reasons: dict[str, str], said: str) -> None:
    assert report.behind(ROWS, reasons) == [f"- behind, 0.75 of the speed of numpy: {said}"]


def test_the_picture_is_well_formed_and_names_every_row() -> None:
    points = [Point(f"row <{n}>", 0.1 * 4**n, 1e9 * 2**n, None if n == 2 else 0.6 + n / 5) for n in range(5)]
    svg = picture(points, Roofs(2, 2e11, 6e10), "a & b")
    texts = [
        "".join(each.itertext()) for each in ElementTree.fromstring(svg).iter() if each.tag.endswith("text")
    ]
    assert [f"row <{n}>" in text for n in range(5) for text in texts].count(True) == 5
    assert any("200 · 10⁹ operations/s, 60 GB/s, 2 threads" in text for text in texts)


def test_reasons_are_of_rows_that_there_are() -> None:
    reasons = yaml.safe_load((ROOT / "benchmarks/bench/reasons.yaml").read_text(encoding="utf-8"))
    assert set(reasons) <= set(workload_names(sys.executable, []))
    assert all(isinstance(reason, str) and reason for reason in reasons.values())
