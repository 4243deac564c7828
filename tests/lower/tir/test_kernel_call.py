"""Tensors that kernels of loop IR compute, among those of expressions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from opgen_runtime.errors import LoweringError

import opgen_runtime as rt
from opgen_runtime import te, tir

SUMS = tir.parse(
    "sums(x: float32[n, 3]) -> (y: float32[n + 1]):\n"
    "    y[n] = 0.0\n"
    "    for i in range(n):\n"
    "        allocate total: float32[1] local\n"
    "        total[0] = 0.0\n"
    "        for k in range(3):\n"
    "            total[0] = total[0] + x[i, k]\n"
    "        y[i] = total[0]\n"
)


def test_its_loops_stand_where_its_tensor_is_computed() -> None:
    a = te.placeholder((2, 3), name="a")
    b = te.compute((2, 3), lambda i, j: a[i, j] * 2.0, name="b")
    total = tir.call(SUMS, b)
    out = te.compute((3,), lambda i: total[i] + 1.0, name="out")
    schedule = te.create_schedule(out)
    text = str(rt.lower(schedule, [a, out], "f"))
    assert text == (
        "f(a: float32[2, 3]) -> (out: float32[3]):\n"
        "    allocate b: float32[2, 3] global\n"
        "    for i in range(2):\n"
        "        for j in range(3):\n"
        "            b[i, j] = a[i, j] * 2.0\n"
        "    allocate y: float32[3] global\n"
        "    y[2] = 0.0\n"
        "    for i in range(2):\n"
        "        allocate total: float32[1] local\n"
        "        total[0] = 0.0\n"
        "        for k in range(3):\n"
        "            total[0] = total[0] + b[i, k]\n"
        "        y[i] = total[0]\n"
        "    for i in range(3):\n"
        "        out[i] = y[i] + 1.0\n"
    )
    array = np.arange(6, dtype="float32").reshape(2, 3)
    assert rt.build(schedule, [a, out])(array).tolist() == [7.0, 25.0, 1.0]
    assert te.evaluate([out], {a: array})[0].tolist() == [7.0, 25.0, 1.0]


def test_its_dims_are_those_of_its_operands() -> None:
    """Twice in one kernel, of other extents, one of them open."""
    n = rt.dim("m")
    a, b = te.placeholder((n, 3), name="a"), te.placeholder((4, 3), name="b")
    first, second = tir.call(SUMS, a), tir.call(SUMS, b)
    out = te.compute((n + 1,), lambda i: first[i] + second[4], name="out")
    run = rt.build(te.create_schedule(out), [a, b, out])
    for size in (0, 1, 5):
        array = np.ones((size, 3), "float32")
        result = np.empty(size + 1, "float32")
        assert run(array, np.ones((4, 3), "float32"), result).tolist() == [3.0] * size + [0.0]


X, WIDE = te.placeholder((4, 3), name="x"), te.placeholder((4, 5), name="wide")
TWO = tir.parse("two(x: int8[1]) -> (y: int8[1], z: int8[1]):\n    y[0] = x[0]\n    z[0] = x[0]\n")
OPEN = tir.parse("open(x: float32[3]) -> (y: float32[k]):\n    pass\n")
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "operands": (lambda: tir.call(SUMS), "sums takes 1 operands, found 0"),
    "a dtype": (lambda: tir.call(TWO, X), "two has 2 outputs; a tensor is computed by a kernel of one"),
    "a shape": (lambda: tir.call(SUMS, WIDE), r"sums: x has the shape .n, 3., found .4, 5."),
    "no tensor": (lambda: tir.call(SUMS, np.zeros(3)), "sums: x is a tensor of float32, found array"),  # type: ignore[arg-type]
    "a dim": (
        lambda: tir.call(OPEN, te.placeholder((3,), name="x")),
        "open: the dim k is that of no operand",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_fit_is_refused(what: str) -> None:
    make, message = WRONG[what]
    with pytest.raises(LoweringError, match=message):
        make()
