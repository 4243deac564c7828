"""Kernels that are Python functions: the loop IR that they are, and what is wrong with others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from opgen_runtime.errors import ExecutorError, LoweringError, OpgenError, ParseError

import opgen_runtime as rt
from opgen_runtime import te, tir

# The functions are read, and never run: their parameters are buffers and dims.
# mypy: disable-error-code="no-untyped-def"
SCALE = 3
WEIGHTS = (0.5, 0.25)


def clipped(value: Any) -> Any:
    return te.max(te.min(value, 1.0), -1.0)


@tir.kernel("(x: float32[n, 8], q: int8[n]) -> (y: float32[n, 8], count: int64[1])")
def everything(x, q, y, count, n):
    """Nothing of this text is read."""
    offset = SCALE - 1
    count[0] = 0
    for i in range(n):
        count[0] += (q[i] > 0).astype("int64")
    for i in tir.parallel(n):
        row = q[i].astype("float32") * 0.5
        total = tir.allocate((1,), "float32")
        total[0] = 0.0
        for k in range(offset, 8):
            if 2 <= k < 6 and x[i, k] != 0:
                total[0] += clipped(x[i, k]) * WEIGHTS[1]
            elif k == 7:
                total[0] -= abs(x[i, k])
        for j in tir.vectorized(8):
            y[i, j] = te.exp(x[i, j]) + row if j % 2 == 0 else max(total[0], row, 0.0)
        if SCALE == 3:
            y[i, 0] = 1.0
        else:
            y[i, 0] = missing  # noqa: F821  # which is not read


TEXT = """\
everything(x: float32[n, 8], q: int8[n]) -> (y: float32[n, 8], count: int64[1]):
    count[0] = int64(0)
    for i in range(n):
        count[0] = count[0] + cast(q[i] > int8(0), int64)
    parallel for i in range(n):
        row = cast(q[i], float32) * 0.5
        allocate total: float32[1] local
        total[0] = 0.0
        for k in range(2, 2 + 6):
            if 2 <= k and k < 6 and x[i, k] != 0.0:
                total[0] = total[0] + max(min(x[i, k], 1.0), -1.0) * 0.25
            else:
                if k == 7:
                    total[0] = total[0] - abs(x[i, k])
        vectorized for j in range(8):
            y[i, j] = exp(x[i, j]) + row if j % 2 == 0 else max(max(total[0], row), 0.0)
        y[i, 0] = 1.0
"""


def test_a_function_is_its_loops() -> None:
    assert str(everything) == TEXT
    assert str(tir.parse(TEXT)) == TEXT


def test_a_kernel_is_built_and_run() -> None:
    rng = np.random.default_rng(0)
    run = rt.build(everything)
    for n in (1, 5, 0):
        x, q = rng.standard_normal((n, 8), "float32"), rng.integers(-9, 9, n).astype("int8")
        y, count = np.empty((n, 8), "float32"), np.empty((1,), "int64")
        run(x, q, y, count)
        expected = tir.interpret(everything, [x, q], {everything.dims[0]: n})
        np.testing.assert_allclose(y.reshape(-1), expected[0], rtol=2e-6)
        assert count.tolist() == expected[1].tolist() == [int((q > 0).sum())]
    assert repr(run) == "everything(x: float32[n, 8], q: int8[n], y: float32[n, 8], count: int64[1])"
    with pytest.raises(ExecutorError, match="everything: input x must be float32"):
        run(
            np.zeros((3, 7), "float32"),
            np.zeros(3, "int8"),
            np.zeros((3, 8), "float32"),
            np.zeros(1, "int64"),
        )


def doubled(signature: str = "(x: float32[8]) -> (y: float32[8])") -> Callable[[Any], tir.PrimFunc]:
    return tir.kernel(signature)


def test_a_closure_is_constant() -> None:
    def times(factor: float) -> tir.PrimFunc:
        @doubled()
        def scaled(x, y):
            for i in range(8):
                y[i] = x[i] * factor

        return scaled

    assert "y[i] = x[i] * 2.5\n" in str(times(2.5))
    assert rt.build(times(2.0))(np.ones(8, "float32")).tolist() == [2.0] * 8


def free(x, y):
    y[0] = z  # noqa: F821


def stored(x, y):
    x[0] = 1.0


def mixed(x, y):
    y[0] = x[0] + te.const(1, "int32")


def twice(x, y):
    t = x[0] + 1.0
    t = t + 1.0
    y[0] = t


def ended(x, y):
    for i in range(8):
        t = x[i] + 1.0
    y[0] = t


def looped(x, y):
    while True:
        y[0] = 1.0


def listed(x, y):
    for i in [1, 2]:
        y[i] = 1.0


def ranked(x, y):
    y[0, 0] = 1.0


def floating(x, y):
    y[x[0]] = 1.0


def open_vector(x, y):
    for i in range(8):
        for j in tir.vectorized(i):
            y[j] = 1.0


def other(a, b):
    b[0] = a[0]


def raising(x, y):
    y[0] = clipped(x)


def unknown_kind(x, y):
    t = tir.allocate((4,), "float31")
    y[0] = t[0]


HERE = r".*test_kernel_functions\.py:\d+:"
WRONG: dict[Callable[..., None], tuple[type[OpgenError], str]] = {
    free: (ParseError, HERE + "12: z is not defined here"),
    stored: (LoweringError, r"stored, after reading: input x is stored to .rule: inputs are only read."),
    mixed: (OpgenError, HERE + "12: cannot combine|" + HERE + "12: cannot add float32 and int32"),
    twice: (ParseError, HERE + "5: t has a meaning here already"),
    ended: (ParseError, HERE + "12: t is not defined here"),
    looped: (ParseError, HERE + "5: a kernel has `for`, .*; found `while True:`"),
    listed: (ParseError, HERE + "14: a loop goes over range.n., .*; found `.1, 2.`"),
    ranked: (ParseError, HERE + "5: buffer y has 1 dims, found 2 indices"),
    floating: (ParseError, HERE + "7: an index is of dtype index, found float32"),
    open_vector: (ParseError, HERE + "18: a loop that is vectorized has a constant extent, found i"),
    other: (ParseError, "other: the signature declares x, y; the function takes a, b"),
    raising: (OpgenError, HERE + "12: clipped"),
    unknown_kind: (ParseError, HERE + "28: unknown dtype 'float31'; did you mean 'float32'"),
}


@pytest.mark.parametrize("function", WRONG, ids=lambda function: function.__name__)
def test_what_is_wrong_is_told_with_its_place(function: Callable[..., None]) -> None:
    error, message = WRONG[function]
    with pytest.raises(error, match=message):
        doubled()(function)


def test_signatures_are_text() -> None:
    with pytest.raises(ParseError, match="the signature of free, line 1, column 5: unknown dtype 'float'"):
        tir.kernel("(x: float[8]) -> (y: float32[8])")(free)
    with pytest.raises(LoweringError, match=r"tir\.parallel stands in a function under"):
        tir.parallel(3)


def test_dims_stand_in_shapes() -> None:
    func = tir.parse("f(x: int8[4]) -> (y: int8[4]):\n    dims m\n    y[0] = cast(m, int8)\n")
    with pytest.raises(LoweringError, match=r"f: the dim m stands in no shape"):
        rt.build(func)


def test_what_only_phases_make_is_refused() -> None:
    func = tir.parse("f(x: int8[4]) -> (y: int8[4]):\n    for i in range(0, 4, 2):\n        y[i] = x[i]\n")
    with pytest.raises(LoweringError, match="the loop over i has a step"):
        rt.build(func)
