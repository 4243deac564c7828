"""numpy's functions of two arrays at infinities, NaN, signed zeros and the ends of floats, as numpy has them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime.run.calls.tracing.ufuncs import UFUNCS

EDGES = [0.0, -0.0, 1e-38, -1e-45, 3e38, -3e38, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0]


def _of_floats() -> list[np.ufunc]:
    return [known for known in UFUNCS if known.nin == 2 and known.nout == 1 and "ff->f" in known.types]


@pytest.mark.parametrize("function", _of_floats(), ids=lambda function: str(function.__name__))
def test_pairs_of_special_values(function: np.ufunc) -> None:
    edges = np.array(EDGES, np.float32)
    x, y = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    with np.errstate(all="ignore"):
        expected = function(x, y)
    np.testing.assert_allclose(rt.jit(function)(x, y), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_nan_to_num_takes_the_greatest_finite_numbers(dtype: type) -> None:
    greatest = ml_dtypes.finfo(dtype).max
    found = rt.jit(lambda a: np.nan_to_num(a))(np.array([np.inf, -np.inf, np.nan, 2], dtype))
    np.testing.assert_array_equal(found, np.array([greatest, -greatest, 0, 2], dtype))
