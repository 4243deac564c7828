"""Positions that start again after an open number of elements are read in two pieces, or by a reciprocal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops, te
from opgen_runtime.base.arith import Binary, Var, const
from opgen_runtime.base.vocabulary import INDEX, DType
from opgen_runtime.lower.schedule import create_schedule
from opgen_runtime.lower.tir import Buffer, Load, PrimFunc, Ramp, Splat, Store, lower
from opgen_runtime.lower.tir.nodes.vector import MAX_LANES
from opgen_runtime.lower.tir.phases import run_phases
from opgen_runtime.lower.tir.phases.wrap_vectors import UNIT, wrap_vectors


def wrapped(element: Callable[..., Any]) -> str:
    """The loop IR after the phase of 48 elements in vectors of 16, of a line of m."""
    m = rt.dim("m")
    x = te.placeholder((m,), "float32", "x")
    y = te.compute((48,), lambda i: element(x, m, i), "y")
    schedule = create_schedule([y])
    schedule[y].vectorize(schedule[y].split(schedule[y].axes[0], 16)[1])
    found: dict[str, str] = {}
    run_phases(lower(schedule, [x], [y], "f"), lambda name, func: found.update({name: str(func)}))
    return found["wrap_vectors"]


def test_a_remainder_becomes_two_pieces() -> None:
    assert wrapped(lambda x, m, i: x[(i + 5) % m]) == (
        "f(x: float32[m]) -> (y: float32[48]):\n"
        "    if m >= 16:\n"
        "        for i_o in range(3):\n"
        "            start = (i_o * 16 + 5) % m\n"
        "            y[ramp(i_o * 16, 1, 16)] = x[ramp(start, 1, 16)] if ramp(start, 1, 16) < splat(m, 16)"
        " else x[ramp(start - m, 1, 16)]\n"
        "    else:\n"
        "        for i_o in range(3):\n"
        "            start = (i_o * 16 + 5) % m\n"
        "            y[ramp(i_o * 16, 1, 16)] = x[ramp(start, 1, 16)"
        " - ramp(start, 1, 16) * splat(2097152 // m + 1, 16) // splat(2097152, 16) * splat(m, 16)]\n"
    )


def test_a_quotient_beside_it_is_one_of_two_numbers() -> None:
    assert wrapped(lambda x, m, i: te.if_then_else(i // m < 2, x[i % m], 0.0)) == (
        "f(x: float32[m]) -> (y: float32[48]):\n"
        "    if m >= 16:\n"
        "        for i_o in range(3):\n"
        "            start = i_o * 16 % m\n"
        "            y[ramp(i_o * 16, 1, 16)] = (x[ramp(start, 1, 16)] if ramp(start, 1, 16) < splat(m, 16)"
        " else x[ramp(start - m, 1, 16)]) if (splat(i_o * 16 // m, 16) if ramp(start, 1, 16) < splat(m, 16)"
        " else splat(i_o * 16 // m + 1, 16)) < splat(2, 16) else splat(0.0, 16)\n"
        "    else:\n"
        "        for i_o in range(3):\n"
        "            start = i_o * 16 % m\n"
        "            y[ramp(i_o * 16, 1, 16)] = x[ramp(start, 1, 16)"
        " - ramp(start, 1, 16) * splat(2097152 // m + 1, 16) // splat(2097152, 16) * splat(m, 16)]"
        " if splat(i_o * 16 // m, 16) + ramp(start, 1, 16) * splat(2097152 // m + 1, 16) // splat(2097152, 16)"
        " < splat(2, 16) else splat(0.0, 16)\n"
    )


def test_reciprocals_are_exact() -> None:
    """Of all that is less than two of the longest vectors, by all that is less than one."""
    numbers = np.arange(2 * MAX_LANES)
    for size in range(1, MAX_LANES):
        np.testing.assert_array_equal(numbers * (UNIT // size + 1) // UNIT, numbers // size)


def test_windows_of_open_planes_at_all_widths() -> None:
    """Vectors of a plane as one line, which cross its rows."""
    random = np.random.default_rng(0)
    weight = random.integers(-3, 4, (8, 2, 3, 3)).astype(np.float32)
    x = ir.Var("x", rt.TensorType((1, 4, 5, rt.dim("w")), "float32"))
    body = ops.conv2d(x, ir.const(weight), groups=2, padding=(1, 1))
    built = rt.build(ir.Function((x,), body), target="llvm -num-threads=1")
    for width in (*range(1, 35), 47, 48, 61):
        given = random.integers(-3, 4, (1, 4, 5, width)).astype(np.float32)
        around = np.pad(given, ((0, 0), (0, 0), (1, 1), (1, 1))).reshape(2, 2, 7, width + 2)
        windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3), axis=(2, 3))
        wanted = np.einsum("gcyxrs,gocrs->goyx", windows, weight.reshape(2, 4, 2, 3, 3))
        np.testing.assert_array_equal(built.run([given]), wanted.reshape(1, 8, 5, width), err_msg=str(width))


MAKES: dict[str, tuple[Callable[[ir.Expr], ir.Expr], Callable[[np.ndarray], np.ndarray]]] = {
    "tile": (lambda x: ops.tile(x, reps=(2, 3)), lambda a: np.tile(a, (2, 3))),
    "wrap": (
        lambda x: ops.pad(x, pad_width=(1, 0, 7, 20), pad_mode="wrap"),
        lambda a: np.pad(a, ((1, 0), (7, 20)), mode="wrap"),
    ),
    "reflect": (
        lambda x: ops.pad(x, pad_width=(0, 1, 3, 19), pad_mode="reflect"),
        lambda a: np.pad(a, ((0, 1), (3, 19)), mode="reflect"),
    ),
    "edge": (
        lambda x: ops.pad(x, pad_width=(2, 1, 3, 40), pad_mode="edge"),
        lambda a: np.pad(a, ((2, 1), (3, 40)), mode="edge"),
    ),
}


@pytest.mark.parametrize("name", MAKES)
def test_values_at_all_sizes(name: str) -> None:
    make, reference = MAKES[name]
    x = ir.Var("x", rt.TensorType((3, rt.dim("m")), "int32"))
    built = rt.build(ir.Function((x,), make(x)))
    for size in (*range(1, 40), 63, 64, 65, 100):
        given = np.arange(3 * size, dtype=np.int32).reshape(3, size)
        np.testing.assert_array_equal(built.run([given]), reference(given), err_msg=str(size))


def test_what_is_read_at_quotients_too_is_gathered_once() -> None:
    """Its pieces would not lie side by side: each would be gathered, and chosen from.  Nothing is divided."""
    n, m = Var(INDEX, "n"), Var(INDEX, "m")
    x, y = (Buffer(name, (64,), DType("float32")) for name in "xy")
    positions, width = Ramp(INDEX, n, const(1, INDEX), 8), Splat(INDEX, m, 8)
    quotient, rest = (Binary(INDEX, op, positions, width) for op in ("floordiv", "floormod"))
    index = Binary(INDEX, "add", Binary(INDEX, "mul", quotient, Splat(INDEX, const(16, INDEX), 8)), rest)
    store = Store(y, (Ramp(INDEX, n, const(1, INDEX), 8),), Load(x.dtype, x, (index,)))
    assert str(wrap_vectors(PrimFunc("f", (), (), store, dims=(n, m)))) == (
        "f() -> ():\n"
        "    dims n, m\n"
        "    if m >= 8:\n"
        "        start = n % m\n"
        "        y[ramp(n, 1, 8)] = x[(splat(n // m, 8) if ramp(start, 1, 8) < splat(m, 8) else splat(n // m + 1, 8))"
        " * splat(16, 8) + (ramp(start, 1, 8) if ramp(start, 1, 8) < splat(m, 8) else ramp(start - m, 1, 8))]\n"
        "    else:\n"
        "        start = n % m\n"
        "        y[ramp(n, 1, 8)] = x[(splat(n // m, 8) + ramp(start, 1, 8) * splat(2097152 // m + 1, 8)"
        " // splat(2097152, 8)) * splat(16, 8)"
        " + (ramp(start, 1, 8) - ramp(start, 1, 8) * splat(2097152 // m + 1, 8) // splat(2097152, 8) * splat(m, 8))]\n"
    )
