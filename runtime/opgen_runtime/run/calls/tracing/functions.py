"""numpy's functions on tracers: `__array_function__`, and the table that the mapping modules fill."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from ....base.errors import CallError
from .tracer import Tracer

F = TypeVar("F", bound=Callable[..., Any])
FUNCTIONS: Final[dict[object, Callable[..., Any]]] = {}
"""numpy's function -> ours, whose parameters are those of numpy's that it takes, under the same names."""
METHODS: Final[dict[str, Callable[..., Any]]] = {}
"""Method of arrays -> function of the tracer and the method's arguments."""


OF_COMPLEX: Final = frozenset({
    "all", "angle", "any", "append", "array_equal", "array_split", "astype", "atleast_1d", "atleast_2d",
    "atleast_3d", "broadcast_arrays", "broadcast_to", "column_stack", "compress", "concat", "concatenate",
    "convolve", "copy", "correlate", "count_nonzero", "cross", "cumprod", "cumsum", "cumulative_prod",
    "cumulative_sum", "diag", "diagflat", "diagonal", "diff", "dot", "dsplit", "dstack", "einsum", "expand_dims",
    "flatten", "flip", "fliplr", "flipud", "full_like", "hsplit", "hstack", "imag", "inner", "iscomplex", "isreal",
    "kron", "matrix_transpose", "mean", "meshgrid", "moveaxis", "multi_dot", "ndim", "ones_like", "outer",
    "permute_dims", "polyval", "prod", "ravel", "real", "repeat", "reshape", "roll", "rollaxis", "rot90", "select",
    "shape", "size", "split", "squeeze", "stack", "sum", "swapaxes", "take", "take_along_axis", "tensordot", "tile",
    "trace", "transpose", "tril", "triu", "unstack", "vander", "vdot", "vecdot", "vsplit", "vstack", "where",
    "zeros_like",
    "fft", "fft2", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "irfft", "irfft2", "irfftn",
})  # fmt: skip
"""numpy's functions and methods that take complex arrays; of the others no formula was written for these."""


def maps(*names: str, method: str = "") -> Callable[[F], F]:
    """Let a function be numpy's functions of these names (those that the installed numpy has), and a method."""

    def register(function: F) -> F:
        for name in names:
            found: Any = np
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is not None:
                FUNCTIONS[found] = function
        if method:
            METHODS[method] = without_defaults(method, function)
        return function

    return register


def array_function(
    self: Tracer,
    function: Callable[..., Any],
    types: Sequence[type],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """numpy's protocol `__array_function__`."""
    name = f"np.{getattr(function, '__name__', function)}"
    mapped = FUNCTIONS.get(function)
    if mapped is None:
        raise CallError(
            f"{name} is not there while a function is traced; ops of opgen_runtime.ops may compute it"
        )
    return without_defaults(name, mapped)(*args, **kwargs)


def without_defaults(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without options that say nothing (`out=None`); others that it does not take are refused by name."""
    signature = inspect.signature(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        if name.removeprefix("np.") not in OF_COMPLEX and _holds_complex((args, *kwargs.values())):
            raise CallError(f"{name} of complex numbers is not there while a function is traced")
        kept = {
            option: value
            for option, value in kwargs.items()
            if option in signature.parameters or not (value is None or value is getattr(np, "_NoValue", None))
        }
        try:
            bound = signature.bind(*args, **kept)
        except TypeError as error:
            taken = str(signature.replace(return_annotation=inspect.Signature.empty)).replace("'", "")
            raise CallError(f"{name} while a function is traced takes {taken}: {error}") from None
        return function(*bound.args, **bound.kwargs)

    return call


def _holds_complex(values: object) -> bool:
    if isinstance(values, tuple | list):
        return any(map(_holds_complex, values))
    return isinstance(values, Tracer | np.ndarray) and values.dtype.kind == "c"
