"""Programs on arrays of dask."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import eager, ops
from opgen_runtime.base.errors import CallError
from opgen_runtime.run.chunked import WholeAxisError

da = pytest.importorskip("dask.array", reason="needs the extra dask")
D = rt.dask

X = np.random.default_rng(0).standard_normal((100, 40)).astype("float32")


def cut(*chunks: Any) -> Any:
    return da.from_array(X, chunks=chunks)


def test_an_op_is_lazy_and_its_types_are_known() -> None:
    found = D.softmax(cut(30, 15), axis=-1)
    assert isinstance(found, da.Array)
    assert (found.shape, found.dtype, found.chunks) == (
        (100, 40),
        np.dtype("float32"),
        ((30, 30, 30, 10), (15, 15, 10)),
    )
    assert found.name.startswith("softmax-")
    np.testing.assert_allclose(found.compute(), eager.softmax(X, axis=-1), rtol=1e-5)


def test_results_are_arrays_like_others() -> None:
    x = cut(30, 40)
    found = (D.tanh(x)[10:50] + 1).sum(axis=0)
    np.testing.assert_allclose(found.compute(), (np.tanh(X)[10:50] + 1).sum(axis=0), rtol=1e-5)


def test_functions_are_one_program() -> None:
    @D.chunked
    def function(x: Any, w: Any) -> Any:
        return {"y": ops.tanh(ops.softmax(x, axis=-1) @ w), "total": ops.sum(x)}

    w = np.ascontiguousarray(X[:40, :8])
    found = function(cut(30, 15), w)
    wanted = rt.jit(function.__wrapped__)(X, w)
    np.testing.assert_allclose(found["y"].compute(), wanted["y"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["total"].compute(), wanted["total"], rtol=1e-4)


def test_a_chain_and_its_sum_are_one_task_a_chunk() -> None:
    function = D.chunked(lambda x: ops.sum(ops.exp(ops.tanh(x) * 2.0)))
    assert function.explain(cut(25, 40)).tasks == 4 + 1
    names = {key[0].split("-")[0] for key in dict(function(cut(25, 40)).dask) if isinstance(key, tuple)}
    assert names == {"array", "tanh_multiply_exp_sum", "tanh_multiply_exp_sum_part"}


def test_it_is_said_what_a_worker_has_no_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = {"a": {"memory_limit": 8192, "nthreads": 2}, "b": {"memory_limit": 0, "nthreads": 1}}
    client = SimpleNamespace(scheduler_info=lambda n_workers: {"workers": workers})
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(default_client=lambda: client))
    found = D.chunked(ops.tanh).explain(cut(25, 40))
    assert (found.limit, found.too_large) == (4096, ["tanh"])
    assert D.chunked(ops.tanh).explain(cut(5, 40)).too_large == []


def test_edges_are_sent_without_the_rest_of_their_chunks() -> None:
    weight = np.ones((1, 1, 3, 3), "float32")
    x = da.from_array(X[None, None], chunks=(1, 1, 25, 40))
    found = D.conv2d(x, weight, padding=(1, 1))
    edges = [key for key in dict(found.dask) if isinstance(key, tuple) and key[0].startswith("conv2d_edge")]
    assert len(edges) == 6  # two for each of three borders
    np.testing.assert_allclose(
        found.compute(), eager.conv2d(X[None, None], weight, padding=(1, 1)), rtol=1e-4, atol=1e-5
    )


def test_tasks_have_the_names_of_ops() -> None:
    @D.chunked
    def function(x: Any, w: Any) -> Any:
        return ops.cumsum(ops.tanh(ops.softmax(x, axis=1)) @ w, axis=0)

    graph = dict(function(cut(25, 20), np.ascontiguousarray(X[:40, :8])).dask)
    names = {key[0].rpartition("-")[0] for key in graph if isinstance(key, tuple)}
    assert names - {"array", "operand"} == {
        *("softmax_m", "softmax_m_part", "softmax_s", "softmax_s_part"),
        *("softmax_tanh_matmul", "softmax_tanh_matmul_part", "cumsum_s", "cumsum_s_edge", "cumsum"),
    }


def test_equal_calls_have_equal_names() -> None:
    x = cut(30, 15)
    assert D.tanh(x).name == D.tanh(x).name != D.tanh(cut(30, 40)).name


def test_a_graph_is_pickled() -> None:
    found = pickle.loads(pickle.dumps(D.softmax(cut(30, 15), axis=-1)))
    np.testing.assert_allclose(found.compute(), eager.softmax(X, axis=-1), rtol=1e-5)


def test_an_axis_that_is_needed_whole() -> None:
    with pytest.raises(
        WholeAxisError, match=r"^opgen_sort: axis 1 of data is needed whole: its elements are sorted"
    ):
        D.sort(cut(100, 10), axis=1)
    found = D.sort(cut(100, 10), axis=1, rechunk="auto")
    np.testing.assert_array_equal(found.compute(), eager.sort(X, axis=1))
    np.testing.assert_array_equal(D.cumsum(cut(30, 10), axis=1).compute(), eager.cumsum(X, axis=1))


def test_complex_arrays() -> None:
    z = (X + 1j * X[::-1]).astype("complex64")
    function = D.chunked(lambda z: ops.real(ops.sum(ops.conj(z) * z, axis=(1,))))
    x = da.from_array(z, chunks=(30, 15))
    assert function(x).name.startswith("real-")
    np.testing.assert_allclose(function(x).compute(), (np.abs(z) ** 2).sum(axis=1), rtol=1e-4)
    found = D.conj(x)
    assert (found.dtype, found.chunks) == (z.dtype, x.chunks)
    np.testing.assert_array_equal(found.compute(), z.conj())


def test_recurrences_go_on_from_chunk_to_chunk() -> None:
    x, w, r = X[:28].reshape(7, 4, 40), np.ones((1, 20, 40), "float32") / 40, np.ones((1, 20, 5), "float32")
    found = D.lstm(da.from_array(x, chunks=((3, 1, 3), 2, 40)), w, r)
    for part, each in zip(found, eager.lstm(x, w, r), strict=True):
        np.testing.assert_allclose(part.compute(), each, rtol=1e-4, atol=1e-5)


def test_functions_of_the_graph_with_params() -> None:
    x, w = rt.var("x", rt.TensorType((100, 40), "float32")), rt.var("w", rt.TensorType((40, 8), "float32"))
    weights = np.ascontiguousarray(X[:40, :8])
    function = D.compute_graph(rt.Function((x, w), ops.tanh(ops.matmul(x, w))), params={"w": weights})
    np.testing.assert_allclose(function(cut(30, 15)).compute(), np.tanh(X @ weights), rtol=1e-4, atol=1e-5)
    with pytest.raises(CallError, match=r"^expected the arguments x, found 2 and \[\]$"):
        function(cut(30, 15), weights)
    with pytest.raises(CallError, match=r"^params: the program has no parameter 'v'"):
        D.compute_graph(rt.Function((x, w), ops.matmul(x, w)), params={"v": weights})


def test_a_name_that_is_no_op() -> None:
    with pytest.raises(
        AttributeError, match=r"^module 'opgen_runtime\.dask' has no op 'sofmax'; did you mean 'softmax'"
    ):
        _ = D.sofmax
