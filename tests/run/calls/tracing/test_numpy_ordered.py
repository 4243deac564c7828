"""numpy's functions by the order of elements, and of sequences, under `jit`: options, ends, NaN and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime.base.errors import CallError

from .numpy_draw import flat
from .numpy_table import ARRAYS

CALLS = """
    np.quantile(a, [0.1, 0.5], axis=0) | np.quantile(a, 0.3, method='nearest') | np.percentile(q, 50, axis=1)
    np.quantile(a, 0.3, method='lower', keepdims=True) | np.quantile(a.astype(np.float32), 0.3)
    np.quantile(a.astype(np.float32), [0.3]) | np.quantile(i, [[0.1, 0.4]], axis=1) | np.nanmedian(q)
    np.nanmedian(q, 0, keepdims=True) | np.searchsorted(np.sort(v), q) | np.searchsorted(np.sort(v), 2)
    np.searchsorted(np.array([1.0, 2.0, np.nan]), q, 'right') | np.searchsorted(np.array([1.0, 2.0, np.nan]), q)
    np.searchsorted(np.sort(np.ravel(i)), a) | np.digitize(a, np.array([3.5, 2.5, 1.5]), True) | np.lexsort((v,))
    np.histogram(i, 3) | np.histogram(a, [1, 2, 3]) | np.histogram(a, 5, (0, 2), density=True)
    np.histogram(a.astype(np.float32), 4) | np.histogram(np.ones(3) * v[0], 2)
    np.convolve(v, w[:2], 'same') | np.convolve(w[:2], v, 'same') | np.convolve(v, w[:2], 'valid')
    np.convolve(i[0], j[0]) | np.convolve(c[0], d[0]) | np.correlate(v, w[:2], 'same')
    np.correlate(w[:2], v, 'same') | np.correlate(w[:2], v, 'full') | np.correlate(w[:2], v) | np.correlate(v, w[:2])
    np.interp(q, np.sort(v), w, left=-1) | np.interp(2.0, np.sort(v), w) | np.gradient(a, 2.0, 0.5) | np.gradient(i)
    np.gradient(a.astype(np.float32), axis=1) | np.unwrap(v * 7) | np.polyint(i[0]) | np.polyder(i[0])
    np.polyder(v, 2) | np.choose(i - 2, [a, b, v], mode='wrap') | np.block([v, w]) | np.resize(a, 7) | np.i0(i)
    np.average(a, axis=(0, -1)) | np.average(a, axis=(1, 0), keepdims=True) | np.average(a, axis=(), returned=True)
    np.median(a, axis=(-2, 1)) | np.median(a, axis=(1, 0), keepdims=True) | np.median(a, keepdims=True)
    np.median(v[0]) | np.median(a, axis=())
    np.ldexp(v, i * -170) | np.frexp(q) | np.spacing(-a) | np.nextafter(q, 2) | np.gcd(i, 6) | np.lcm(-i, j)
"""


@pytest.mark.parametrize(
    "text", [call.strip() for line in CALLS.splitlines() for call in line.split("|") if call.strip()]
)
def test_as_numpy(text: str) -> None:
    used = [name for name in ARRAYS if name in compile(text, "<numpy>", "eval").co_names]

    def function(*values: Any) -> Any:
        return eval(text, {"np": np, **dict(zip(used, values, strict=True))})

    arrays = [ARRAYS[name] for name in used]
    for mine, theirs in zip(flat(rt.jit(function)(*arrays)), flat(function(*arrays)), strict=True):
        x, y = np.asarray(mine), np.asarray(theirs)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x, y, rtol=1e-6 if y.dtype == np.float32 else 1e-13, atol=1e-15)


def test_what_is_refused_says_what_is_taken() -> None:
    a = ARRAYS["a"]
    with pytest.raises(CallError, match=r"np\.quantile .* takes quantiles that are known, found a traced q"):
        rt.jit(lambda a: np.quantile(a, a[0, 0]))(a)
    with pytest.raises(CallError, match=r"takes a number of bins or edges, found 'auto'"):
        rt.jit(lambda a: np.histogram(a, "auto"))(a)
    with pytest.raises(CallError, match=r"np\.delete .* takes positions that are known"):
        rt.jit(lambda v, i: np.delete(v, i))(ARRAYS["v"], ARRAYS["i"])
    with pytest.raises(CallError, match=r"np\.compress .* takes a condition that is known along an axis"):
        rt.jit(lambda c, a: np.compress(c[0], a, 1))(ARRAYS["c"], a)
    with pytest.raises(CallError, match=r"np\.pad .* takes the reflect_type 'even'"):
        rt.jit(lambda a: np.pad(a, 1, "reflect", reflect_type="odd"))(a)
