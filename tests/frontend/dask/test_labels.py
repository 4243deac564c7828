"""Ops on labelled arrays."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from opgen_runtime import eager
from opgen_runtime.base.errors import CallError

pytest.importorskip("dask.array", reason="needs the extra dask")
xarray = pytest.importorskip("xarray", reason="needs xarray")
import_module("opgen_runtime.dask.labels")

X = np.random.default_rng(0).standard_normal((6, 8)).astype("float32")


def labelled(**chunks: int) -> xarray.DataArray:
    array = xarray.DataArray(
        X, dims=["time", "x"], coords={"time": np.arange(6) * 10, "x": np.arange(8)}, name="heat"
    )
    return array.chunk(chunks) if chunks else array


def test_labels_stay() -> None:
    found = labelled(time=2, x=3).opgen.softmax(dim="x")
    assert found.dims == ("time", "x")
    assert found.chunks == ((2, 2, 2), (3, 3, 2))
    assert found.name == "heat"
    np.testing.assert_array_equal(found.coords["time"], np.arange(6) * 10)
    np.testing.assert_allclose(found.values, eager.softmax(X, axis=1), rtol=1e-5)


def test_those_of_reduced_axes_go() -> None:
    found = labelled(time=2).opgen.sum(dim=["time"])
    assert found.dims == ("x",)
    assert list(found.coords) == ["x"]
    np.testing.assert_allclose(found.values, X.sum(axis=0), rtol=1e-5)


def test_arrays_that_are_not_cut() -> None:
    np.testing.assert_array_equal(labelled().opgen.tanh().values, eager.tanh(X))


def test_what_does_not_fit() -> None:
    with pytest.raises(CallError, match=r"^softmax: the array has no dim 'y', but time, x$"):
        labelled().opgen.softmax(dim="y")
    with pytest.raises(AttributeError, match=r"^there is no op 'sofmax'; did you mean 'softmax'"):
        _ = labelled().opgen.sofmax
    with pytest.raises(
        CallError, match=r"^transpose: the result has the shape \(8, 6\), whose axes are not those of"
    ):
        labelled().opgen.transpose()
