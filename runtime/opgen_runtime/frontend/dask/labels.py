"""Ops on labelled arrays of xarray: `import opgen_runtime.dask.labels`, and then

    array.opgen.softmax(dim="x")
    array.opgen.sum(dim=["x", "y"])

The array's data is one of dask or of numpy; `dim` names axes, and what is left of them keeps names and coordinates.
Needs xarray.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import xarray

from ...base.errors import CallError, did_you_mean
from ...run.chunked import op_names
from .functions import function

__all__ = ["Labelled"]


@xarray.register_dataarray_accessor("opgen")
class Labelled:
    """The ops by name, on one labelled array."""

    def __init__(self, array: xarray.DataArray) -> None:
        self._array = array

    def __getattr__(self, name: str) -> Callable[..., xarray.DataArray]:
        names = op_names()
        if name not in names:
            raise AttributeError(f"there is no op {name!r}{did_you_mean(name, names)}", name=name)

        def call(*others: Any, dim: str | Sequence[str] | None = None, **attrs: Any) -> xarray.DataArray:
            return self._called(name, others, dim, attrs)

        call.__name__ = name
        return call

    def __dir__(self) -> list[str]:
        return list(op_names())

    def _called(
        self, name: str, others: Sequence[Any], dim: str | Sequence[str] | None, attrs: dict[str, Any]
    ) -> xarray.DataArray:
        """Raises CallError for a dim that there is not, and for a result whose axes are none of the array's."""
        array = self._array
        named = [] if dim is None else [dim] if isinstance(dim, str) else list(dim)
        for each in named:
            if each not in array.dims:
                raise CallError(
                    f"{name}: the array has no dim {each!r}, but {', '.join(map(str, array.dims))}"
                )
        if named:
            axes = [array.get_axis_num(each) for each in named]
            attrs = {**attrs, "axis": axes[0] if isinstance(dim, str) else axes}
        operands = [each.data if isinstance(each, xarray.DataArray) else each for each in others]
        found = function(name)(array.chunk().data if array.chunks is None else array.data, *operands, **attrs)
        left = [d for d in array.dims if d not in named]
        for dims in (list(array.dims), left):
            if found.shape == tuple([array.sizes[d] for d in dims]):
                coords = {key: value for key, value in array.coords.items() if set(value.dims) <= set(dims)}
                return xarray.DataArray(found, coords=coords, dims=dims, name=array.name, attrs=array.attrs)
        raise CallError(
            f"{name}: the result has the shape {found.shape}, whose axes are not those of {dict(array.sizes)}"
        )
