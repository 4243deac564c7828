"""Kernels of many operands and results: tensors joined, stacked and cut, hundreds at a time, at times 10,000."""

from __future__ import annotations

import random

import numpy as np

from opgen_runtime.run.calls import eager

COUNT = 150
SECONDS = 240.0

_DTYPES = ("bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64")


def case(seed: int) -> None:
    """Join and stack random arrays and cut the result again."""
    rng = random.Random(seed)
    count = 10_000 if seed % 50 == 49 else int(2 ** rng.uniform(3, 10))
    dtype = rng.choice(_DTYPES)
    other = [rng.choice((1, 2, 3, 17)) for _ in range(rng.randint(0, 2))]
    axis = rng.randint(0, len(other))
    sizes = _sizes(rng, count)
    distinct = [_array(rng, [*other[:axis], size, *other[axis:]], dtype) for size in sizes]
    arrays = [rng.choice(distinct) if rng.random() < 0.05 else array for array in distinct]
    whole = np.concatenate(arrays, axis)
    what = f"{count} x {dtype}{other} along {axis}"
    _same(eager.concatenate(arrays, axis=axis), whole, what)
    cuts = np.cumsum([a.shape[axis] for a in arrays])[:-1].tolist()
    results = eager.split(whole, indices_or_sections=cuts, axis=axis, as_positions=True)
    assert len(results) == len(arrays)
    for got, want in zip(results, arrays, strict=True):
        _same(got, want, what)
    rows = [_array(rng, other, dtype) for _ in range(count)]
    place = rng.randint(-len(other) - 1, len(other))
    _same(eager.stack(rows, axis=place), np.stack(rows, place), what)


def _sizes(rng: random.Random, count: int) -> list[int]:
    """Equal, of a few kinds, all different, or some of them large enough for several threads."""
    most = max(1, 200_000 // count)
    kinds = rng.choice(([rng.randint(1, most)], [0, 1, 2, most], range(most), [3, rng.randint(0, most)]))
    sizes = [rng.choice(kinds) for _ in range(count)]
    if rng.random() < 0.2:
        for _ in range(20):
            sizes[rng.randrange(count)] = 40_000
    return sizes


def _array(rng: random.Random, shape: list[int], dtype: str) -> np.ndarray:
    return np.random.default_rng(rng.getrandbits(32)).integers(0, 100, shape).astype(dtype)


def _same(got: np.ndarray, want: np.ndarray, what: str) -> None:
    assert got.dtype == want.dtype, what
    np.testing.assert_array_equal(got, want, err_msg=what)
