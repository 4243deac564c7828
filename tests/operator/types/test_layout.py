"""Layout strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import AttrError, ShapeError
from opgen_runtime.operator.types import parse_layout, stored_indices, to_canonical, to_stored

NCHW = parse_layout("NCHW")


def test_permuted() -> None:
    nhwc = parse_layout("NHWC")
    n = dim("n")
    assert to_canonical((n, 8, 9, 3), nhwc, NCHW) == (n, 3, 8, 9)
    assert to_stored((n, 3, 8, 9), nhwc, NCHW) == (n, 8, 9, 3)
    assert stored_indices((1, 2, 3, 4), nhwc, NCHW) == (1, 3, 4, 2)


def test_blocked() -> None:
    blocked = parse_layout("NCHW16c")
    assert blocked.is_blocked
    assert blocked.factor("C") == 16
    assert to_canonical((1, 2, 8, 9, 16), blocked, NCHW) == (1, 32, 8, 9)
    assert to_stored((1, 32, 8, 9), blocked, NCHW) == (1, 2, 8, 9, 16)
    assert stored_indices((0, 19, 5, 6), blocked, NCHW) == (0, 1, 5, 6, 3)
    with pytest.raises(ShapeError, match="blocks C by 16, which does not divide 20"):
        to_stored((1, 20, 8, 9), blocked, NCHW)
    with pytest.raises(ShapeError, match="layout NCHW16c has 16 of c, the shape has 8"):
        to_canonical((1, 2, 8, 9, 8), blocked, NCHW)
    with pytest.raises(ShapeError, match="has 5 dims, the shape has 4"):
        to_canonical((1, 2, 8, 9), blocked, NCHW)


@pytest.mark.parametrize(
    ("text", "message"),
    [("NCHH", "names an axis twice"), ("NHW16c", "has the factor 16c but no axis C"), ("N?", "at '\\?'")],
)
def test_bad_layouts(text: str, message: str) -> None:
    with pytest.raises(AttrError, match=message):
        parse_layout(text)


@given(st.permutations(["N", "C", "H", "W", "2c", "3c", "2h"]))
def test_round_trip_and_positions(parts: list[str]) -> None:
    stored = parse_layout("".join(parts))
    shape = (2, 12, 4, 3)
    inner = to_stored(shape, stored, NCHW)
    assert to_canonical(inner, stored, NCHW) == shape
    # every element has a position of its own
    positions = {stored_indices(tuple(map(int, index)), stored, NCHW) for index in np.ndindex(*shape)}
    assert len(positions) == np.prod(shape)
    assert all(0 <= i < d for position in positions for i, d in zip(position, inner, strict=True))
