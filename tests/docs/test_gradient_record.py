"""The page of how each gradient is computed: every op has its row, and rows are true."""

from __future__ import annotations

import random

from opgen_runtime import ops
from tests.gradients import RECORD, row, suites


def test_the_record_is_that_of_the_ops() -> None:
    rows = [line for line in RECORD.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert [line.split("`")[1] for line in rows] == sorted(ops.__all__)
    chosen = random.Random(len(rows)).sample(sorted(ops.__all__), 12)
    again = [*chosen, "softmax", "sort", "unique", "max_pool2d", "floor"]
    assert [row(suite) for suite in suites(again)] == [line for line in rows if line.split("`")[1] in again]
