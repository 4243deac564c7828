"""Python functions and ops on arrays of dask."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

import dask.array as da

from ...base import Target
from ...run.chunked import GraphCall, Report, jitted, joined, op_function, partition, report, traced
from .arrays import TARGET, apply, as_dask, grids_of


class ChunkedFunction:
    """A function of arrays on arrays of dask: lazy, one program, whose tasks each give a chunk."""

    def __init__(
        self,
        function: Any,
        rechunk: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        """`function`: of Python, or of the graph, such as an ONNX model that was loaded, with arrays of `params`.

        `rechunk`: "auto" puts chunks together along axes that are needed whole.  Raises CallError for params that there
        are not.
        """
        self._function = jitted(function, params)
        if not isinstance(self._function, GraphCall):
            functools.update_wrapper(self, function)
        self._joined = joined(rechunk)

    def __call__(self, *args: Any, rechunk: str | None = None, **kwargs: Any) -> Any:
        """The results, arrays of dask, in the structure that the function gives them.

        Arrays of numpy are one chunk; numbers and texts decide the program.  Raises WholeAxisError for an axis that is
        cut and needed whole, and what types and tracing raise; nothing is computed.
        """
        program, operands, restored = traced(self._function, args, kwargs, _is_array)
        return restored(apply(program, operands, self._joined or joined(rechunk)))

    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """The stages, how they are cut, their tasks, the bytes that these take of others, and the most that one has.

        With a client of a cluster, also which stages have tasks of more than a thread of its smallest worker may have.
        """
        program, operands, _ = traced(self._function, args, kwargs, _is_array)
        grids = grids_of([as_dask(each) for each in operands])
        made = partition(program, grids, joined=True)
        return report(made, Target.parse(TARGET), _task_limit())

    def __repr__(self) -> str:
        return f"<{getattr(self, '__name__', 'function')} on chunked arrays>"


def chunked(function: Callable[..., Any] | None = None, *, rechunk: str | None = None) -> Any:
    """A function of arrays as one of arrays of dask; a decorator, too, with or without options."""
    if function is None:
        return lambda each: ChunkedFunction(each, rechunk)
    return ChunkedFunction(function, rechunk)


compute_graph = ChunkedFunction


def function(name: str) -> ChunkedFunction:
    """The op of that name on arrays of dask.  Raises CallError if there is none."""
    return ChunkedFunction(op_function(name))


def _task_limit() -> int | None:
    """The bytes that each task may have on the cluster whose client is the current one; None without, or no limit."""
    distributed = sys.modules.get("distributed")  # which a client has imported
    if distributed is None:
        return None
    try:
        workers = distributed.default_client().scheduler_info(n_workers=-1)["workers"].values()
    except ValueError:  # there is no client
        return None
    limits = [int(each["memory_limit"]) // int(each["nthreads"]) for each in workers if each["memory_limit"]]
    return min(limits, default=None)


def _is_array(value: Any) -> bool:
    return isinstance(value, da.Array)
