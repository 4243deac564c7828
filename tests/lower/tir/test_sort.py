"""Sorts in loop IR: the loops, what they compute for every dtype, and open dims."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import te, tir
from opgen_runtime.base.arith import dim
from opgen_runtime.base.vocabulary import DTYPES, DType
from opgen_runtime.lower.tir.lowering.sort_network import stages_of


def lowered(output: te.Tensor, *inputs: te.Tensor) -> tir.PrimFunc:
    return tir.lower(te.create_schedule([output]), inputs, [output], "sorts")


def test_the_loops_of_a_sort() -> None:
    x = te.placeholder((2, 3, 4), "uint8", name="x")
    assert str(lowered(te.sort(x, axis=1, descending=True, name="y"), x)) == LOOPS


LOOPS = """\
sorts(x: uint8[2, 3, 4]) -> (y: uint8[2, 3, 4]):
    parallel for row in range(8):
        allocate keys: uint8[2, 3] local
        allocate counts: int32[1, 256] local
        allocate state: index[2] local
        for j in range(3):
            keys[0, j] = ~x[row // 4, j, row % 4]
        state[1] = 3
        most = state[1]:
            for p in range(1):
                for d in range(256):
                    counts[p, d] = int32(0)
            for j in range(most):
                key = keys[0, j]
                digit = cast(key >> uint8(0) & uint8(255), index)
                counts[0, digit] = counts[0, digit] + int32(1)
            state[0] = 0
            for p in range(1 if most > 1 else 0):
                half = state[0]
                if cast(counts[p, cast(keys[half, 0] >> cast(p * 8, uint8) & uint8(255), index)], index) != most:
                    state[1] = 0
                    for d in range(256):
                        count = cast(counts[p, d], index)
                        counts[p, d] = cast(state[1], int32)
                        state[1] = state[1] + count
                    for j in range(most):
                        key = keys[half, j]
                        digit = cast(key >> cast(p * 8, uint8) & uint8(255), index)
                        place = cast(counts[p, digit], index)
                        counts[p, digit] = cast(place + 1, int32)
                        keys[1 - half, place] = key
                    state[0] = 1 - half
        half = state[0]
        for i in range(3):
            y[row // 4, i, row % 4] = ~keys[half, i]
"""


def data(dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers with equal ones among them, the least and the greatest, zeros of either sign, NaN of either sign."""
    random = np.random.default_rng(len(dtype) + len(shape))
    if dtype.is_bool:
        return random.integers(0, 2, shape).astype(bool)
    if not dtype.is_float:
        chosen = np.array([dtype.lowest, dtype.highest, 0, 1, 5, dtype.highest - 1], dtype.numpy)
    else:
        chosen = np.array([0.0, -0.0, 1.0, -2.5, 0.25, np.nan, -np.nan, dtype.highest, dtype.lowest])
        chosen = chosen.astype(dtype.numpy)
    return random.choice(chosen, shape)


def bits(array: np.ndarray) -> bytes:
    """The elements to the bit, one NaN being like another."""
    return np.where(
        array == array, array, array.dtype.type(np.nan) if array.dtype.kind in "fV" else 0
    ).tobytes()


@pytest.mark.parametrize("name", [name for name in DTYPES if not DType(name).is_complex])
def test_every_dtype(name: str) -> None:
    """The loops as the interpreter reads them, and as code; a few of many are found before they are sorted."""
    dtype = DType(name)
    for shape, axis, count in [((1, 20), 1, 4), ((70, 5), 1, None)]:
        x = te.placeholder(shape, name, name="x")
        given = data(dtype, shape)
        for output in (te.sort(x, axis, count=count), te.argsort(x, axis, descending=True, count=count)):
            (expected,) = te.evaluate([output], {x: given})
            func = lowered(output, x)
            if shape[0] == 1:  # the interpreter takes its time
                assert bits(tir.interpret(func, [given], {})[0]) == bits(expected)
            assert str(tir.parse(str(func))) == str(func)
            assert bits(rt.build(func)(given)) == bits(expected)


def test_the_network_sorts() -> None:
    """Zeros and ones in every order (Knuth's principle), with as many comparisons as merging halves takes."""
    for length in range(2, 11):
        every = np.array(list(np.ndindex((2,) * length))).T
        for step, first, distance in stages_of(length):
            for i in range(length - distance):
                if i & step == first:
                    every[i], every[i + distance] = (
                        every[[i, i + distance]].min(0),
                        every[[i, i + distance]].max(0),
                    )
        assert (np.diff(every, axis=0) >= 0).all()
    assert list(stages_of(4)) == [(2, 0, 2), (1, 0, 1), (1, 1, 1)]


def test_lines_that_lie_side_by_side() -> None:
    x = te.placeholder((6, 5, 14), "int16", name="x")
    given = np.random.default_rng(3).integers(-9, 9, (6, 5, 14)).astype("int16")
    np.testing.assert_array_equal(rt.build(lowered(te.sort(x, 0), x))(given), np.sort(given, 0))
    np.testing.assert_array_equal(
        rt.build(lowered(te.argsort(x, 1), x))(given), np.argsort(given, 1, kind="stable")
    )


def test_as_many_lines_as_are_there_choose() -> None:
    rows = dim("rows")
    x = te.placeholder((rows, 6), "float64", name="x")
    run = rt.build(lowered(te.sort(x), x))
    for count in (0, 3, 8, 21):
        given = np.random.default_rng(2).standard_normal((count, 6))
        np.testing.assert_array_equal(run(given), np.sort(given))


def test_long_lines_and_digits_in_common() -> None:
    for given in (np.arange(20_000)[::-1] % 7777, np.full(20_000, 3), np.arange(20_000) << 40):
        x = te.placeholder(given.shape, "int64", name="x")
        np.testing.assert_array_equal(
            rt.build(lowered(te.argsort(x), x))(given), np.argsort(given, kind="stable")
        )


def test_open_dims_what_is_computed_before_and_after() -> None:
    n, m = dim("n"), dim("m")
    x = te.placeholder((n, m), "float32", name="x")
    y = te.sort(te.compute((n, m), lambda i, j: te.exp(x[i, j])))
    z = te.compute((n, m), lambda i, j: y[i, j] * 2.0)
    run = rt.build(lowered(z, x))
    for shape in ((3, 7), (1, 900), (0, 4), (4, 0), (5, 1)):
        given = np.random.default_rng(1).standard_normal(shape).astype("float32")
        np.testing.assert_allclose(run(given), np.sort(np.exp(given)) * 2, rtol=1e-6)
