"""hypot, ldexp and nextafter of tensor expressions: numpy's values, to the bit where they are exact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import te
from opgen_runtime.base.errors import DTypeError, OpgenError

EDGES = (0.0, -0.0, 1.0, -1.0, 0.1, 3.5, -1e-3, 6e4, np.inf, -np.inf, np.nan)


def floats(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    edges = [*EDGES, info.tiny, -info.tiny, info.smallest_subnormal, info.max, -info.max, info.tiny * 0.37]
    return np.array(edges).astype(dtype)


def compiled(function: Callable[..., object], *arrays: np.ndarray) -> np.ndarray:
    """The function of elements of arrays of one length."""
    given = [te.placeholder(each.shape, each.dtype.name, name=f"A{k}") for k, each in enumerate(arrays)]
    made = te.compute(arrays[0].shape, lambda i: function(*[each[i] for each in given]), name="B")
    built: np.ndarray = rt.build(te.create_schedule(made.op), [*given, made])(*arrays)
    return built


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    values = floats(dtype)
    first, second = np.meshgrid(values, values)
    return first.ravel(), second.ravel()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_float_next_to_another(dtype: str) -> None:
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        wanted = np.nextafter(x, y)
    np.testing.assert_array_equal(compiled(te.nextafter, x, y), wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_times_a_power_of_two(dtype: str) -> None:
    x, n = np.meshgrid(
        floats(dtype), np.array([0, 1, -1, 5, -12, 130, -149, -1074, 2000, -9000, 2**31 - 1], "int32")
    )
    with np.errstate(all="ignore"):
        wanted = np.ldexp(x.ravel().astype("float64"), n.ravel()).astype(dtype)
    np.testing.assert_array_equal(compiled(te.ldexp, x.ravel(), n.ravel()), wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_lengths(dtype: str) -> None:
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        wanted = np.hypot(x.astype("float64"), y.astype("float64")).astype(dtype)
    found = compiled(te.hypot, x, y)
    np.testing.assert_allclose(
        found, wanted, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).smallest_subnormal
    )
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))


def test_numbers_and_what_is_refused() -> None:
    x = np.float32([3, 0])
    np.testing.assert_array_equal(compiled(lambda a: te.hypot(a, 4), x), [5, 4])
    np.testing.assert_array_equal(compiled(lambda a: te.ldexp(a, 3), x), [24, 0])
    refused: list[tuple[Callable[[], object], type[OpgenError], str]] = [
        (lambda: te.hypot(te.const(1), 2), DTypeError, "hypot needs a float, found int32; use cast"),
        (
            lambda: te.ldexp(te.const(1.0), te.const(1.0)),
            DTypeError,
            "ldexp takes an exponent of int32, found float32",
        ),
        (lambda: te.nextafter(te.const(1.0), te.const(1.0, "float64")), DTypeError, "call nextafter on"),
    ]
    for make, error, message in refused:
        with pytest.raises(error, match=message):
            make()
