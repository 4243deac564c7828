"""placeholder, compute and extern; dims that are known when a kernel runs, and reduce axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....base.arith import Const, Expr, Shape, comparing, dim, substitute
from ....base.errors import CallError, ShapeError
from ....base.functions import get_global_func
from ....base.vocabulary import INDEX, INT64, DType
from ..construct import checked_dims, data_axes
from ..construct import placeholder as make_placeholder
from ..construct import reduce_axis as make_axis
from ..loop_ir import FunctionOfBuffers, LoopIRFunction
from ..tensor import Compute, Extern, IterVar, Tensor
from .axes import number
from .defined import defining
from .fold import Fold
from .functions import const
from .tags import noted

_OF_BUFFERS: Final = ("ins", "outs")  # the parameters of a function that gives loop IR
_OWN_NAMES: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def var(name: str = "n") -> Expr:
    """A dim that is known when a kernel runs: that of the arrays which it is given."""
    return dim(name)


size_var = var


@defining
def placeholder(
    shape: Sequence[int | Expr] | int | Expr, dtype: str = "float32", name: str = "placeholder"
) -> Tensor:
    """An input.  Raises ShapeError for a dim that is none, DTypeError for an unknown dtype."""
    return make_placeholder(name, _shape(shape, name), dtype)


def reduce_axis(dom: Sequence[int | Expr], name: str = "rv") -> IterVar:
    """An axis to reduce over, of the domain `(0, extent)`.  Raises ShapeError for another domain."""
    given = tuple(dom) if isinstance(dom, Sequence) else (dom,)
    if len(given) != 2 or not (isinstance(given[0], int | Const) and _number(given[0]) == 0):
        raise ShapeError(f"{name}: a reduce axis has the domain {dom!r:.80}, expected (0, extent)")
    return make_axis(given[1], name)


def _number(value: int | Const) -> object:
    return value.value if isinstance(value, Const) else value


@defining
def compute(
    shape: Sequence[int | Expr] | int | Expr,
    fcompute: Callable[..., object],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
) -> Any:
    """A tensor with `out[i, j, ...] = fcompute(i, j, ...)`; of a tuple of values as many tensors.

    `tag` and `attrs` are notes that schedules of users find again in `out.op.tag` and `out.op.attrs`.

    The axes have the names of the function's parameters, the dtype is that of the value; indices alone are int64.
    Raises ShapeError for a function of another number of indices, DTypeError for a value that is no number.  That
    accesses stay inside is proved when a schedule is made: only then is it known what a scan's state stands for.
    """
    dims = _shape(shape, name)
    axes = data_axes(dims, _names(fcompute, len(dims), name))
    with comparing():
        given = fcompute(*(axis.var for axis in axes))
    if isinstance(given, Fold):
        made = given.tensors(name, axes)
    elif not isinstance(given, tuple | list):
        made = _computed(name, axes, given)
    else:
        made = _computed_each(name, axes, given)
    if isinstance(made, list):
        return [noted(each, tag, attrs) for each in made]
    return noted(made, tag, attrs)


def _computed_each(name: str, axes: tuple[IterVar, ...], given: Sequence[object]) -> list[Tensor]:
    """The tensors of several values."""
    dims = tuple([axis.extent for axis in axes])
    return [
        _computed(f"{name}_{k}", data_axes(dims, [a.var.name for a in axes]), part, axes)
        for k, part in enumerate(given)
    ]


def _computed(name: str, axes: tuple[IterVar, ...], value: object, written: Sequence[IterVar] = ()) -> Tensor:
    """The tensor of a value, which is written in the axes `written` where these are others."""
    made = number(value)
    body = made if isinstance(made, Expr) else const(made)
    if written:
        body = substitute(body, {old.var: new.var for old, new in zip(written, axes, strict=True)})
    dtype = INT64 if body.dtype is INDEX else body.dtype
    return Tensor(name, tuple(axis.extent for axis in axes), dtype, Compute(axes, body))


def _names(function: Callable[..., object], count: int, name: str) -> list[str]:
    """The names of a function's parameters, for as many indices."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a built-in function without a signature
        return []
    named = [p.name for p in parameters if p.kind in _OWN_NAMES]
    needed = sum(p.kind in _OWN_NAMES and p.default is p.empty for p in parameters)
    spread = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if count < needed or (count > len(named) and not spread):
        raise ShapeError(f"{name}: the shape has {count} dims, the function takes {len(named)} indices")
    return [each if each != "_" else f"i{k}" for k, each in enumerate(named[:count])]


@defining
def extern(
    shape: Sequence[Any],
    inputs: Sequence[Tensor],
    fcompute: Callable[..., Any] | str,
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
    attrs: Mapping[str, object] | None = None,
) -> Any:
    """What a function of arrays gives, `fcompute(*arrays, **attrs)`, or what loop IR fills, `fcompute(ins, outs)`.

    A function whose parameters are called `ins` and `outs` takes the buffers of the inputs and of the results, when it
    is lowered, and gives the statement that fills the results, written with `opgen_runtime.tir`.  Any other one gives
    an array or a tuple of them, in each run.

    `fcompute`: a Python function, or the name under which one is registered when the kernel runs (`rt.register_func`).
    `shape`: of the result, or a list of shapes, one a result; `dtype` likewise, that of the first input where it is
    not given.  The function sees its operands read-only.  Raises CallError for what is no function or tensor, for
    dtypes that are not one a result, and for attrs of loop IR.
    """
    if not (isinstance(fcompute, str) or callable(fcompute)):
        raise CallError(f"{name}: {fcompute!r:.80} is neither a function nor the name of one")
    for k, each in enumerate(inputs):
        if not isinstance(each, Tensor):
            raise CallError(f"{name}: input {k} is {each!r:.80}, expected a tensor")
    several = bool(shape) and all(isinstance(each, Sequence) for each in shape)
    shapes = [_shape(each, name) for each in (shape if several else [shape])]
    if dtype is None and not inputs:
        raise CallError(f"{name}: without inputs the dtype must be given")
    kinds = [dtype or inputs[0].dtype] * len(shapes) if isinstance(dtype, str | None) else list(dtype)
    if len(kinds) != len(shapes):
        raise CallError(f"{name}: {len(shapes)} shapes, but {len(kinds)} dtypes")
    function = _registered(fcompute) if isinstance(fcompute, str) else fcompute
    given = tuple((attrs or {}).items())
    if _parameters(function) == _OF_BUFFERS:
        function = FunctionOfBuffers(function)
    if isinstance(function, LoopIRFunction) and given:
        raise CallError(f"{name}: what gives loop IR takes no attrs")
    made = [
        Tensor(
            name if len(shapes) == 1 else f"{name}_{k}",
            dims,
            DType(kind),
            Extern(tuple(inputs), function, given, k, len(shapes)),
        )
        for k, (dims, kind) in enumerate(zip(shapes, kinds, strict=True))
    ]
    return made if several else made[0]


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters; none of a built-in function without a signature."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def _registered(name: str) -> Callable[..., Any]:
    """Calls the function that is registered under a name then."""

    def function(*arrays: np.ndarray, **attrs: object) -> Any:
        return get_global_func(name)(*arrays, **attrs)

    function.__qualname__ = function.__name__ = name
    return function


def _shape(shape: Sequence[int | Expr] | int | Expr, name: str) -> Shape:
    given = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    return checked_dims(name, [int(d) if isinstance(d, np.integer) else d for d in map(_dim, given)])


def _dim(given: object) -> Any:
    """A dim; a constant expression is its number."""
    return int(given.value) if isinstance(given, Const) and given.dtype.is_int else given
