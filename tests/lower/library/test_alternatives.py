"""Small linear maps: alternatives that positions choose among are unrolled around vectors, and share what they read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import opgen_runtime.te as dsl
import pytest

import opgen_runtime as rt
from opgen_runtime.base.arith import Expr
from opgen_runtime.base.target import Target
from opgen_runtime.compute.te.tensor import Tensor
from opgen_runtime.lower.library import schedules
from opgen_runtime.lower.library.schedules.common.alternatives import choosing_axes
from opgen_runtime.lower.schedule import create_schedule

_TARGET = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")
HAAR = """\
schedule.normalize()
out.unroll(i)
c_o, c_i = out.split(c, 16)
out.reorder(p, c_o, i, c_i)
out.vectorize(c_i)"""
COLOURS = """\
schedule.normalize()
out.unroll(k)
c_o, c_i = out.split(c, 16)
out.reorder(y, c_o, k, c_i)
out.vectorize(c_i)"""
_LUMA = ((0.25, 0.5, 0.25), (-0.5, 1.0, -0.5), (0.5, 0.25, -0.75))


def choice(index: Expr, values: list[Expr]) -> Expr:
    found = values[-1]
    for n in reversed(range(len(values) - 1)):
        found = dsl.if_then_else(dsl.equal(index, n), values[n], found)
    return found


def haar(x: Tensor, pairs: int, width: int) -> Tensor:
    """Sums and differences of rows."""
    return dsl.compute(
        (2, pairs, width),
        lambda i, p, c: choice(i, [x[2 * p, c] + x[2 * p + 1, c], x[2 * p, c] - x[2 * p + 1, c]]),
        name="out",
    )


def colours(x: Tensor, height: int, width: int) -> Tensor:
    """A matrix of constants times the colours of each place."""
    return dsl.compute(
        (height, width, 3),
        lambda y, c, k: choice(k, [x[0, y, c] * a + x[1, y, c] * b + x[2, y, c] * d for a, b, d in _LUMA]),
        name="out",
    )


def tile(x: Tensor, height: int, width: int) -> Tensor:
    """Both differences of four rows, of their differences: sixteen alternatives of sixteen elements."""

    def along(i: Expr, d: list[Expr]) -> Expr:
        return choice(i, [d[0] - d[2], d[1] + d[2], d[2] - d[1], d[3] - d[1]])

    def body(i: Expr, j: Expr, y: Expr, c: Expr) -> Expr:
        return along(j, [along(i, [x[4 * y + r, s, c] for r in range(4)]) for s in range(4)])

    return dsl.compute((4, 4, height, width), body, name="out")


def test_the_whole_schedule() -> None:
    """Vectors of the columns, the alternatives inside: they are last also where they are stored side by side."""
    x, y = dsl.placeholder((6, 32), name="x"), dsl.placeholder((3, 5, 32), name="y")
    assert str(schedules.generic((haar(x, 3, 32),), _TARGET).trace) == HAAR
    assert str(schedules.generic((colours(y, 5, 32),), _TARGET).trace) == COLOURS


_MAPS: dict[str, tuple[Callable[..., Tensor], Callable[[int, int], tuple[int, ...]]]] = {
    "haar": (haar, lambda n, width: (2 * n, width)),
    "colours": (colours, lambda n, width: (3, n, width)),
    "tile": (tile, lambda n, width: (4 * n, 4, width)),
}


@pytest.mark.parametrize(("height", "threads"), [(5, 1), (1500, 2)])
@pytest.mark.parametrize("width", [1, 3, 16, 37])
@pytest.mark.parametrize("name", _MAPS)
def test_values_of_every_width(name: str, width: int, height: int, threads: int) -> None:
    make, shape = _MAPS[name]
    x = dsl.placeholder(shape(height, width), name="x")
    out = make(x, height, width)
    target = Target.parse(f"llvm -mcpu=x86-64-v3 -num-threads={threads}")
    kernel = rt.build(schedules.generic((out,), target), [x, out], target=target)
    array = np.random.default_rng(3).standard_normal(shape(height, width)).astype("float32")
    array[0] = np.inf
    with np.errstate(invalid="ignore"):
        wanted = dsl.evaluate([out], {x: array})[0]
        assert np.allclose(kernel(array), wanted, rtol=1e-5, atol=1e-5, equal_nan=True)


def names(out: Tensor) -> list[str]:
    return [str(axis.var) for axis in choosing_axes(create_schedule([out])[out])]


def test_what_shares_nothing_chooses_nothing() -> None:
    """Stacks, paddings, what data decide, and positions that are also read."""
    a, b = (dsl.placeholder((4, 32), name=n) for n in "ab")
    flags = dsl.placeholder((2,), dtype="int32", name="flags")
    assert not names(dsl.compute((2, 4, 32), lambda k, i, j: choice(k, [a[i, j], b[i, j]]), name="out"))
    assert not names(
        dsl.compute((6, 34), lambda i, j: dsl.if_then_else(dsl.all(i < 4, j < 32), a[i, j], 0.0), name="out")
    )
    assert not names(
        dsl.compute(
            (2, 4, 32),
            lambda k, i, j: dsl.if_then_else(dsl.equal(flags[k], 0), a[i, j] + b[i, j], a[i, j] - b[i, j]),
            name="out",
        )
    )
    assert not names(
        dsl.compute((2, 4, 32), lambda k, i, j: choice(k, [a[i, j] + b[k, j], a[i, j] - b[k, j]]), name="out")
    )
    assert names(
        dsl.compute((2, 4, 32), lambda k, i, j: choice(k, [a[i, j] + b[i, j], a[i, j] - b[i, j]]), name="out")
    ) == ["k"]
