"""float8_e4m3fn, a format of storage without infinities: arithmetic in float32, rounded once, NaN beyond 448."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import eager, ops

ml_dtypes = pytest.importorskip("ml_dtypes")
F8 = np.dtype(ml_dtypes.float8_e4m3fn)
EVERY = np.arange(256).astype(np.uint8).view(F8)


def of(values: object) -> np.ndarray:
    """float32 numbers rounded by ml_dtypes."""
    with np.errstate(all="ignore"):
        return np.asarray(values, np.float32).astype(F8)


def assert_bits(found: object, expected: np.ndarray) -> None:
    given = np.asarray(found)
    assert given.dtype == expected.dtype == F8
    a, b = given.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.signbit(a)[a == 0], np.signbit(b)[a == 0])


def test_arithmetic_of_all_pairs() -> None:
    x, y = (grid.ravel() for grid in np.meshgrid(EVERY, EVERY))
    a, b = x.astype(np.float32), y.astype(np.float32)
    with np.errstate(all="ignore"):
        assert_bits(eager.add(x, y), of(a + b))
        assert_bits(eager.multiply(x, y), of(a * b))
        assert_bits(eager.divide(x, y), of(a / b))
        assert_bits(eager.maximum(x, y), of(np.maximum(a, b)))
        np.testing.assert_array_equal(eager.less(x, y), a < b)
    assert not eager.isinf(EVERY).any()
    np.testing.assert_array_equal(eager.isnan(EVERY), np.isnan(EVERY.astype(np.float32)))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64"]
)
def test_casts(dtype: str) -> None:
    """What is beyond 448 by more than half a step is NaN; ints round once."""
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    numbers = np.array(
        [0, 1, 17, 19, 21, 100, 447, 448, 463, 464, 465, 1e4, -0.1, -(2.0**-10), -460, 2.0**-9]
    )
    if info is not None:
        numbers = numbers[(numbers >= info.min) & (numbers <= info.max)].astype(int)
    given = numbers.astype(dtype)
    with np.errstate(all="ignore"):
        assert_bits(eager.cast(given, dtype="float8_e4m3fn"), of(given.astype(np.float32)))
    finite = EVERY[np.isfinite(EVERY.astype(np.float32))]
    if np.dtype(dtype).kind == "f":
        np.testing.assert_array_equal(eager.cast(finite, dtype=dtype), finite.astype(dtype))


def test_sums_and_products_are_kept_in_float32() -> None:
    ones = np.ones((3, 256), F8)
    assert_bits(eager.sum(ones, axis=1), of([256] * 3))
    random = np.random.default_rng(1)
    a, b = (random.integers(-3, 4, shape).astype(np.float32) for shape in ((5, 7), (7, 6)))
    assert_bits(eager.matmul(a.astype(F8), b.astype(F8)), of(a @ b))
    assert_bits(eager.max(a.astype(F8), axis=0), of(a.max(0)))


def test_it_goes_through_graphs_and_text() -> None:
    x = rt.var("x", rt.TensorType((4,), "float8_e4m3fn"))
    function = rt.Function([x], ops.add(x, rt.const(np.array([1.0, 448.0, -2.0, np.nan], F8))))
    again = rt.parse_expr(rt.to_text(function))
    given = of([1.0, 18.0, 2.0, 3.0])
    for each in (function, again):
        assert_bits(rt.create_executor("graph").evaluate(each)(given), of([2.0, 466.0, 0.0, np.nan]))
    assert_bits(rt.jit(lambda p: np.cbrt(p) * 2.0)(of([8.0, -27.0])), of([4.0, -6.0]))
