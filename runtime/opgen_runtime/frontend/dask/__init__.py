"""Declared ops, and programs of them, on chunked arrays.  Needs the extra `dask`: `pip install opgen[dask]`.

    import dask.array as da
    import opgen_runtime.dask as D

    x = da.random.random((100_000, 4_096), chunks=(10_000, 1_024))
    D.softmax(x, axis=-1)                                   # lazy: an array of dask

    @D.chunked
    def block(x, w):
        return ops.tanh(ops.softmax(x, axis=-1) @ w)

    block(x, w)                                             # one program, cut as a whole
    print(block.explain(x, w))                              # its stages, tasks, bytes

arrays.py     programs of the graph on arrays of dask
functions.py  Python functions, and ops by name, on arrays of dask
labels.py     ops on labelled arrays of xarray (imported by its own name)
"""

from __future__ import annotations

import sys

from ...base.errors import did_you_mean
from ...run.chunked import WholeAxisError, op_names
from .functions import ChunkedFunction, chunked, compute_graph, function

__all__ = ["ChunkedFunction", "WholeAxisError", "chunked", "compute_graph", "function"]


def __getattr__(name: str) -> ChunkedFunction:
    names = op_names()
    if name not in names:
        raise AttributeError(
            f"module 'opgen_runtime.dask' has no op {name!r}{did_you_mean(name, names)}", name=name
        )
    found = function(name)
    setattr(sys.modules[__name__], name, found)  # the next access does not come here
    return found


def __dir__() -> list[str]:
    return sorted({*op_names(), *__all__})
