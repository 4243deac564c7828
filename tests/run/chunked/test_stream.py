"""Programs over arrays in chunks, in this process."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import eager, ops
from opgen_runtime.base.errors import CallError, ExecutorError
from opgen_runtime.run.chunked import WholeAxisError, partition, report, traced
from tests.gradients import suites

from .every_op import check

X = np.random.default_rng(0).standard_normal((100, 40)).astype("float32")


def close(function: Any, *arrays: np.ndarray, chunks: Any, rechunk: str | None = None) -> None:
    found = rt.stream(function, *arrays, chunks=chunks, rechunk=rechunk)
    np.testing.assert_allclose(found, rt.jit(function)(*arrays), rtol=1e-5, atol=1e-5)


def test_elements() -> None:
    found = rt.stream(lambda x: ops.tanh(x) * 2, X, chunks=[(30, 15)])
    assert found.tobytes() == rt.jit(lambda x: ops.tanh(x) * 2)(X).tobytes()


def test_reductions_along_cut_axes() -> None:
    close(lambda x: ops.softmax(x, axis=1), X, chunks=[(30, 15)])
    close(lambda x: ops.mean(x), X, chunks=[(3, 15)])
    close(lambda x: ops.variance(x, axis=(0,)), X, chunks=[(7, None)])


def test_positions_of_the_first_greatest_value() -> None:
    x = np.array([[3, 9, 1, 9, 9, 2, 9], [0, 0, np.nan, 5, np.nan, 7, 1]], "float32")
    found = rt.stream(lambda x: ops.argmax(x, axis=(1,)), x, chunks=[(None, (2, 1, 2, 2))])
    np.testing.assert_array_equal(found, [1, 2])
    assert found.dtype == eager.argmax(x, axis=(1,)).dtype


def test_neighbours_of_several_chunks() -> None:
    x = X[None, None]
    weight = np.random.default_rng(1).standard_normal((2, 1, 9, 9)).astype("float32")
    found = rt.stream(lambda x, w: ops.conv2d(x, w, padding=(4, 4)), x, weight, chunks=[(1, 1, 3, 40), None])
    np.testing.assert_allclose(found, eager.conv2d(x, weight, padding=(4, 4)), rtol=1e-4, atol=1e-4)


def test_products() -> None:
    close(lambda a, b: ops.matmul(a, b), X, np.ascontiguousarray(X[:40, :30]), chunks=[(30, 7), (13, 11)])


def test_results_in_structures_and_arguments_too() -> None:
    found = rt.stream(
        lambda pair, scale: {"sum": ops.sum(pair[0]), "both": (pair[0] * scale, pair[1])},
        (X, X[:3]),
        2.0,
        chunks=[(50, 40), None, None],
    )
    assert sorted(found) == ["both", "sum"]
    np.testing.assert_array_equal(found["both"][0], X * np.float32(2))


def test_gradients() -> None:
    def loss(x: Any, w: Any) -> Any:
        return ops.sum(ops.tanh(x @ w))

    w = np.ascontiguousarray(X[:40, :8])
    found = rt.stream(rt.grad(loss, argnums=1), X, w, chunks=[(30, 40), None])
    np.testing.assert_allclose(found, rt.grad(loss, argnums=1)(X, w), rtol=1e-4, atol=1e-5)


def test_memory_mapped_files(tmp_path: Path) -> None:
    source = np.memmap(tmp_path / "x", "float32", "w+", shape=X.shape)
    source[:] = X
    target = np.memmap(tmp_path / "y", "float32", "w+", shape=X.shape)
    given = rt.stream(lambda x: ops.exp(x), source, out=target, chunks=[(17, 40)])
    assert given is target
    np.testing.assert_array_equal(np.asarray(target), eager.exp(X))


def test_an_axis_that_is_needed_whole() -> None:
    with pytest.raises(WholeAxisError) as caught:
        rt.stream(lambda x: ops.sort(x, axis=1), X, chunks=[(100, 10)])
    assert str(caught.value) == (
        "opgen_sort: axis 1 of x is needed whole: its elements are sorted; it is cut into 4 chunks. "
        "Rechunk it to one along this axis, or ask for rechunk='auto': a chunk of (100, 40) has 15.6 KiB"
    )
    close(lambda x: ops.sort(x, axis=1), X, chunks=[(100, 10)], rechunk="auto")


def test_scans_go_on_where_the_chunk_before_ends() -> None:
    for axis in (0, 1):
        found = rt.stream(lambda x, axis=axis: ops.cumsum(x, axis=axis), X, chunks=[(30, (10, 1, 9, 20))])
        assert found.tobytes() == eager.cumsum(X, axis=axis).tobytes()
    gradient = rt.grad(lambda x: ops.sum(ops.tanh(ops.cumsum(x, axis=1))))  # a scan downwards
    assert rt.stream(gradient, X, chunks=[(30, (10, 1, 9, 20))]).tobytes() == gradient(X).tobytes()


def test_complex_arrays() -> None:
    z = (X + 1j * X[::-1]).astype("complex64")

    def function(z: Any) -> Any:
        return ops.conj(z) * 2, ops.sum(z * z, axis=(1,)), ops.imag(z)

    found = rt.stream(function, z, chunks=[(30, 15)])
    for part, each in zip(found, rt.jit(function)(z), strict=True):
        assert (part.dtype, part.shape) == (each.dtype, each.shape)
        np.testing.assert_allclose(part, each, rtol=1e-5)
    found = rt.stream(lambda x, y: ops.complex(x, y), X, X, chunks=[(30, 15), 40], out=np.empty_like(z))
    np.testing.assert_array_equal(found, X + 1j * X)


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype("float32") / 4


def test_recurrences_of_several_states_go_on_likewise() -> None:
    x, w, r = drawn(7, 4, 3), drawn(1, 20, 3), drawn(1, 20, 5)
    wanted = eager.lstm(x, w, r)
    chunks: list[Any] = [((3, 1, 3), (2, 2), None), None, None]
    for found, each in zip(rt.stream(ops.lstm, x, w, r, chunks=chunks), wanted, strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-5, atol=1e-6)
    program, _, _ = traced(ops.lstm, (x, w, r), {}, lambda value: True)
    made = partition(program, [((3, 1, 3), (2, 2), (3,)), ((1,), (20,), (3,)), ((1,), (20,), (5,))])
    leaders = [stage for stage in made.stages if stage.others]
    assert [len(stage.others) for stage in leaders] == [1]  # c and h, computed by the same tasks
    with pytest.raises(WholeAxisError, match=r"^opgen_lstm: axis 1 of r is needed whole"):
        rt.stream(ops.lstm, x, w, r, chunks=[*chunks[:2], (1, 10, 5)])


def test_matrices_are_factored_in_batches() -> None:
    a = drawn(5, 4, 4) + 4 * np.eye(4, dtype="float32")
    for function in (ops.lu, ops.cholesky, ops.slogdet):
        wanted = rt.jit(function)(a)
        found = rt.stream(function, a, chunks=[((2, 3), None, None)])
        for part, each in zip(found, wanted, strict=True):
            np.testing.assert_allclose(part, each, rtol=1e-5, atol=1e-5)
    with pytest.raises(WholeAxisError, match=r"^opgen_lu: axis 1 of \w+ is needed whole"):
        rt.stream(ops.lu, a, chunks=[(5, (2, 2), 4)])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"chunks": [(30,)]},
            CallError,
            r"^chunks of argument 0: expected one entry for each of 2 axes, found 1$",
        ),
        ({"chunks": []}, CallError, r"^chunks of argument 0: expected one entry an array, found 0$"),
        (
            {"chunks": [(0, 40)]},
            CallError,
            r"^chunks of argument 0, axis 0: a chunk has at least one element, found 0$",
        ),
        (
            {"chunks": [((50, 20), 40)]},
            CallError,
            r"^chunks of argument 0, axis 0: the chunks \(50, 20\) have 70 elements, expected 100$",
        ),
        ({"rechunk": "all"}, CallError, r"^rechunk: expected 'auto' or None, found 'all'$"),
        (
            {"out": np.empty((100, 4), "float32")},
            CallError,
            r"^opgen_exp: out\[0\]: expected float32\[100, 40\], found float32\[100, 4\]$",
        ),
    ],
)
def test_what_does_not_fit(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rt.stream(lambda x: ops.exp(x), X, **options)


def test_a_result_whose_size_depends_on_data() -> None:
    with pytest.raises(ExecutorError, match="size depends on data"):
        rt.stream(lambda x: ops.argwhere(x), X)


def test_what_it_costs() -> None:
    program, _, _ = traced(lambda x: ops.softmax(x, axis=1), (X,), {}, lambda value: True)
    found = report(partition(program, [((25,) * 4, (10,) * 4)]))
    assert str(found) == (
        "opgen_softmax: 56 tasks, 51.6 KiB taken, 2.1 KiB at most in one\n"
        "    softmax_m      20 tasks    15.6 KiB     1.1 KiB  chunks 4 of 25, along 4 of 10\n"
        "    softmax_s      20 tasks    17.2 KiB     1.2 KiB  chunks 4 of 25, along 4 of 10\n"
        "    softmax        16 tasks    18.8 KiB     2.1 KiB  chunks 4 of 25 x 4 of 10"
    )
    made = partition(program, [((25,) * 4, (10,) * 4)])
    assert str(report(made, limit=2048)) == f"{found}\nmore than a task may have, 2.0 KiB: softmax"
    assert report(made, limit=4096).too_large == []


@pytest.mark.parametrize(
    "name",
    [
        "batch_norm",
        "concatenate",
        "expand_dims",
        "gather",
        "layer_norm",
        "max_pool2d",
        "pad",
        "topk",
        "where",
    ],
)
def test_ops_cut_at_random(name: str) -> None:
    for suite in suites([name]):
        for case in suite.declared_cases[:3]:
            check(suite, case, random.Random(name))
