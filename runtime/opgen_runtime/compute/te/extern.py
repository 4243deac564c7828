"""Calling hand-written functions of arrays, and holding what they give to what it must be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from ...base.contract import Contract, Rule, When, handed_in
from ...base.errors import ExecutorError
from .loop_ir import LoopIRFunction, qualified_name
from .tensor import Extern, Tensor

Arrays = tuple[np.ndarray, ...]


def call_extern(op: Extern, arrays: Mapping[Tensor, np.ndarray]) -> Arrays:
    """All results of the function, as arrays.  It sees its operands read-only: they may be anyone's.

    Raises ExecutorError naming the function for whatever it raises, for a result that is no array, and for another
    number of results than is declared.
    """
    what = f"the function {function_name(op)}"
    with handed_in(what, ExecutorError):
        made = op.function(*[_read_only(arrays[t]) for t in op.operands], **dict(op.attrs))
        results = tuple([np.asarray(result) for result in (made if isinstance(made, tuple) else (made,))])
    wanted = op.outputs or op.output + 1
    if len(results) < wanted or (op.outputs and len(results) != wanted):
        raise ExecutorError(f"{what} gave {len(results)} arrays, expected {wanted}")
    return results


def fitting_result(tensor: Tensor, result: np.ndarray) -> np.ndarray:
    """The result of a function that `tensor` is, as a new array: what it gives may be an operand, or its own to keep.

    Raises ExecutorError for another dtype, rank or shape.
    """
    op = tensor.op
    assert isinstance(op, Extern)
    RESULTS.verify((tensor, result, op.free), f"the function {function_name(op)}")
    return np.array(result, tensor.dtype.numpy, order="C", copy=True)


_Result = tuple[Tensor, np.ndarray, frozenset[int]]


def _why_not_dtype(made: _Result) -> str | None:
    tensor, result, _ = made
    if result.dtype.newbyteorder("=") == tensor.dtype.numpy:
        return None
    return f"result {tensor.name} is {_text(result)}, expected {tensor.dtype}"


def _why_not_shape(made: _Result) -> str | None:
    tensor, result, free = made
    fits = result.ndim == tensor.ndim and all(
        not isinstance(wanted, int) or found == wanted or (axis in free and found <= wanted)
        for axis, (found, wanted) in enumerate(zip(result.shape, tensor.shape, strict=True))
    )
    if fits:
        return None
    dims = [f"<={dim}" if axis in free else str(dim) for axis, dim in enumerate(tensor.shape)]
    return f"result {tensor.name} is {_text(result)}, expected {tensor.dtype}[{', '.join(dims)}]"


RESULTS: Final = Contract(
    "results of hand-written functions",
    ExecutorError,
    When.ALWAYS,
    (Rule("results have their dtype", _why_not_dtype), Rule("results have their shape", _why_not_shape)),
)


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _text(array: np.ndarray) -> str:
    return f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"


def extern_kind(op: Extern) -> str:
    """What an extern's function is, for reasons: a Python function, or loop IR."""
    return "loop IR written by hand" if op.gives_loop_ir else "a Python function"


def function_name(op: Extern) -> str:
    """`module:name` of the function that an op calls; the name of loop IR."""
    return op.function.name if isinstance(op.function, LoopIRFunction) else qualified_name(op.function)
