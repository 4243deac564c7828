"""Transpositions: turned in squares of as many lanes as the extents have room for."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops, te
from opgen_runtime.base.target import Target
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.schedule.stages.relations import Split
from opgen_runtime.run.compile import pipeline
from tests.lower.library.test_contractions import target, var


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "shape", [(3, 22, 9), (2, 40, 40), (3, 13, 11), (64, 40), (5, 7), (70, 100), (3, 17)]
)
def test_turned(shape: tuple[int, ...], threads: int) -> None:
    x = var("x", *shape)
    order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
    function = ir.Function((x,), ops.transpose(x, axes=order), attrs={"Primitive": 1})
    given = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (found,) = pipeline.compile_segment(function, target(threads)).run([given])
    np.testing.assert_array_equal(found, given.transpose(order))


@pytest.mark.parametrize(
    ("rows", "columns", "lanes", "height"),
    [
        (64, 64, 16, 64),
        (300, 500, 16, 64),
        (40, 40, 8, 40),
        (9, 22, 4, 4),
        (13, 11, 4, 8),
        (18, 17, 4, 4),
        (65, 70, 8, 24),
        (7140, 61, 16, 64),
        (5133, 53, 16, 64),
    ],
)
def test_lanes_leave_few_elements_over(rows: int, columns: int, lanes: int, height: int) -> None:
    """Of `columns` that lie side by side in the result, whose elements are a row apart in what is read."""
    x = te.placeholder((columns, rows), name="X")
    schedule = generic(
        [out := te.compute((rows, columns), lambda i, j: x[j, i], name="C")],
        Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"),
    )
    assert [leaf.extent for leaf in schedule[out].leaves[-2:]] == [height, lanes]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(61, 51, 5), (17, 3, 67), (35, 131), (131, 35), (9, 10)])
def test_squares_begin_earlier(shape: tuple[int, ...], dtype: str, threads: int) -> None:
    """The first axis comes last, whose extent no vector divides: the last squares lap over those before."""
    x = var("x", *shape, dtype=dtype)
    order = (*range(1, len(shape)), 0)
    function = ir.Function((x,), ops.transpose(x, axes=order), attrs={"Primitive": 1})
    given = np.random.default_rng(0).integers(-128, 128, shape).astype(dtype)
    (found,) = pipeline.compile_segment(function, target(threads)).run([given])
    np.testing.assert_array_equal(found, given.transpose(order))


def test_no_square_is_in_part() -> None:
    x = te.placeholder((61, 70), name="X")
    out = te.compute((70, 61), lambda i, j: x[j, i], name="C")
    schedule = generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    assert [
        (each.factor, each.overlapping) for each in schedule[out].relations if isinstance(each, Split)
    ] == [
        (16, True),
        (16, True),
    ]


def test_costly_elements_keep_wide_vectors() -> None:
    x = te.placeholder((40, 40), name="X")
    out = te.compute((40, 40), lambda i, j: te.exp(x[j, i]), name="C")
    schedule = generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    assert schedule[out].leaves[-1].extent == 16


def test_axes_that_are_one_loop_count_as_one() -> None:
    """Seven rows of seven fill squares of 16, whatever is read beside them as it lies."""
    x, y = te.placeholder((49, 64), name="X"), te.placeholder((64, 7, 7), name="Y")
    out = te.compute((64, 7, 7), lambda i, j, k: te.exp(x[j * 7 + k, i]) + y[i, j, k], name="C")
    schedule = generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    assert [leaf.extent for leaf in schedule[out].leaves] == [1, 4, 64, 16]


@pytest.mark.parametrize("shape", [(5, 5), (3, 5, 5), (2, 17, 17)])
def test_squares_that_overlap_beside_reads_that_are_chosen(shape: tuple[int, ...]) -> None:
    """The last square of a line begins before the one before ends; what is read as it lies is inside, too."""
    x = np.random.default_rng(0).normal(size=shape).astype("float32")

    def mirrored(x: np.ndarray) -> np.ndarray:
        return np.where(np.tri(shape[-1], dtype=bool), x, np.swapaxes(x, -1, -2))

    def halves(x: np.ndarray) -> np.ndarray:
        return np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2)

    for function in (mirrored, halves):
        np.testing.assert_array_equal(rt.jit(function)(x), function(x))
