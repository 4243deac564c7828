"""Tensors that kernels of loop IR compute, among those of expressions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from opgen_runtime.errors import LanguageError, LoweringError

import opgen_runtime as rt
from opgen_runtime import te, tir
from opgen_runtime.compute.te.batching import batched
from opgen_runtime.compute.te.derivative import pullback

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


SCALED = tir.parse(
    "scaled(x: float32[n], w: float32[n]) -> (y: float32[n]):\n    for i in range(n):\n        y[i] = x[i] * w[i]\n"
)


def test_rows_of_a_batch_are_a_loop_around_its_loops() -> None:
    x, w = te.placeholder((4,), name="x"), te.placeholder((4,), name="w")
    rows = te.placeholder((3, 4), name="x")
    (out,), _ = batched([tir.call(SCALED, x, w)], {x: rows}, 3)
    schedule = te.create_schedule(out)
    assert str(rt.lower(schedule, [rows, w, out], "f")) == (
        "f(x: float32[3, 4], w: float32[4]) -> (y: float32[3, 4]):\n"
        "    parallel for row in range(3):\n"
        "        for i in range(4):\n"
        "            y[row, i] = x[row, i] * w[i]\n"
    )
    a, b = np.arange(12, dtype="float32").reshape(3, 4), np.arange(4, dtype="float32")
    assert rt.build(schedule, [rows, w, out])(a, b).tolist() == (a * b).tolist()
    assert te.evaluate([out], {rows: a, w: b})[0].tolist() == (a * b).tolist()


def test_rows_follow_each_other_where_a_row_has_threads() -> None:
    x = te.placeholder((4,), name="x")
    threads = tir.parse(str(SCALED).replace("for i", "parallel for i"))
    rows = te.placeholder((3, 4), name="x")
    (out,), _ = batched([tir.call(threads, x, x)], {x: rows}, 3)
    text = str(rt.lower(te.create_schedule(out), [rows, out], "f"))
    assert [line.strip() for line in text.splitlines()[1:3]] == [
        "for row in range(3):",
        "parallel for i in range(4):",
    ]


ENDS = tir.parse("""\
ends(x: float32[n]) -> (low: float32[1], high: float32[1]):
    low[0] = x[0]
    high[0] = x[n - 1]
""")


def test_several_outputs_are_filled_by_one_statement() -> None:
    x = te.placeholder((4,), name="x")
    low, high = tir.call(ENDS, x)
    out = te.compute((1,), lambda i: high[i] - low[i], name="out")
    assert str(rt.lower(te.create_schedule(out), [x, out], "f")) == (
        "f(x: float32[4]) -> (out: float32[1]):\n"
        "    allocate high: float32[1] global\n"
        "    allocate low: float32[1] global\n"
        "    low[0] = x[0]\n"
        "    high[0] = x[3]\n"
        "    out[0] = high[0] - low[0]\n"
    )
    array = np.float32([1, 2, 3, 7])
    assert rt.build(te.create_schedule([high, low]), [x, high, low])(array) == (7, 1)
    assert te.evaluate([high, low], {x: array}) == [7, 1]


def test_an_output_that_no_tensor_is_has_storage_of_its_own() -> None:
    x = te.placeholder((4,), name="x")
    _, high = tir.call(ENDS, x)
    assert str(rt.lower(te.create_schedule(high), [x, high], "f")) == (
        "f(x: float32[4]) -> (high: float32[1]):\n"
        "    allocate low: float32[1] global\n"
        "    low[0] = x[0]\n"
        "    high[0] = x[3]\n"
    )


def test_it_has_no_derived_gradient_and_no_pattern() -> None:
    x = te.placeholder((4,), name="x")
    made = tir.call(SCALED, x, x)
    assert te.derive_pattern([made], [x])[1] == "y is loop IR written by hand"
    assert te.to_text([made]) == "x: float32[4]\ny: float32[4] = scaled(x, x)[0]\n"
    with pytest.raises(LanguageError, match="y is loop IR written by hand, which has no derived gradient"):
        pullback([made], [te.placeholder((4,), name="g")], x)


X, WIDE = te.placeholder((4, 3), name="x"), te.placeholder((4, 5), name="wide")
TWO = tir.parse("two(x: int8[1]) -> (y: int8[1], z: int8[1]):\n    y[0] = x[0]\n    z[0] = x[0]\n")
OPEN = tir.parse("open(x: float32[3]) -> (y: float32[k]):\n    pass\n")
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "operands": (lambda: tir.call(SUMS), "sums takes 1 operands, found 0"),
    "a dtype": (lambda: tir.call(TWO, X), "two: x is a tensor of int8, found"),
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
