"""searchsorted on rows that are sorted, against numpy (generated suites have data in any order)."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime.run.calls import eager


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("extent", [0, 1, 2, 7, 64, 100])
def test_sorted_rows(extent: int, right: bool) -> None:
    random = np.random.default_rng(extent)
    rows = np.sort(random.integers(-20, 20, (3, extent)).astype("int32"), axis=1)
    values = random.integers(-22, 22, (3, 50)).astype("int32")
    found = eager.searchsorted(rows, values, right=right)
    side = "right" if right else "left"
    for row, value, positions in zip(rows, values, found, strict=True):
        np.testing.assert_array_equal(positions, np.searchsorted(row, value, side))
