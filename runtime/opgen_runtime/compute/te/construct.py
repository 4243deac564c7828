"""Writing tensor expressions by hand: placeholders, computes, reads and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...base.arith import Expr, Shape, Var, boolean, const, operands
from ...base.errors import DTypeError, ShapeError, shown
from ...base.vocabulary import BOOL, INDEX, POSITIONAL, REDUCTIONS, DType
from .contract import verify_tensor
from .tensor import Compute, IterVar, Placeholder, Read, Reduce, Tensor


def placeholder(name: str, shape: Sequence[int | Expr], dtype: str, is_constant: bool = False) -> Tensor:
    """An input of the kernel, or one that has the same value in all runs."""
    return Tensor(name, checked_dims(name, shape), DType(dtype), Placeholder(is_constant))


def data_axes(shape: Shape, names: Sequence[str] = ()) -> tuple[IterVar, ...]:
    """One axis for each dim of `shape`, named i0, i1, ... where no name is given."""
    return tuple(
        IterVar(Var(INDEX, names[d] if d < len(names) else f"i{d}"), extent) for d, extent in enumerate(shape)
    )


def compute(name: str, shape: Sequence[int | Expr], dtype: str, fn: Callable[..., Expr]) -> Tensor:
    """A tensor with `out[i0, i1, ...] = fn(i0, i1, ...)`.

    Raises DTypeError where the body's dtype is not `dtype` (an `index` body may fill an int64 tensor), ShapeError for
    a dim that is none, and AccessError where a read is not proved in bounds.
    """
    axes = data_axes(checked_dims(name, shape))
    want = DType(dtype)
    body = fn(*(axis.var for axis in axes))
    if not isinstance(body, Expr):
        raise DTypeError(f"{name}: the body is {body!r:.80}, expected an expression; use const(..., {want})")
    if body.dtype is not want and not (body.dtype is INDEX and want == "int64"):
        raise DTypeError(f"{name}: the body is {body.dtype}, the tensor {want}; use cast(..., {want})")
    made = Tensor(name, tuple(shape), want, Compute(axes, body))
    verify_tensor(made, f"te.compute of {name}")
    return made


def checked_dims(name: str, shape: Sequence[int | Expr]) -> Shape:
    """The dims of a shape.  Raises ShapeError for one that is neither an int of at least 0 nor an expression."""
    for axis, dim in enumerate(shape):
        if not (dim >= 0 if type(dim) is int else isinstance(dim, Expr)):
            raise ShapeError(f"{name}: axis {axis} has the extent {dim!r:.80}, expected an int of at least 0")
    return tuple(shape)


def reduce_axis(extent: int | Expr, name: str) -> IterVar:
    """A reduction axis: 0 <= var < extent."""
    return IterVar(Var(INDEX, name), checked_dims(name, (extent,))[0], "reduce")


def read(tensor: Tensor, *indices: int | Expr) -> Read:
    """`tensor[indices]`; `compute` proves that they stay inside.

    Raises ShapeError for a wrong number of indices, DTypeError for one that is no integer.
    """
    if len(indices) != tensor.ndim:
        raise ShapeError(f"{tensor.name} has {tensor.ndim} dims, found {len(indices)} indices")
    made = tuple(i if isinstance(i, Expr) else const(i, INDEX) for i in indices)
    for position, index in enumerate(made):
        if not index.dtype.is_int:
            raise DTypeError(f"{tensor.name}: index {position} is {index.dtype}; expected an integer")
    return Read(tensor.dtype, tensor, made)


def reduce(
    combiner: str,
    axes: Sequence[IterVar] | IterVar,
    value: Expr,
    condition: Expr | None = None,
    default: Expr | None = None,
) -> Expr:
    """A reduction of `value` over `axes` (the last fastest) where `condition` holds.

    combiner: one of `vocabulary.REDUCTIONS`.  Raises DTypeError for a combiner that is not known or a value that it
    does not take.
    """
    if combiner not in REDUCTIONS:
        raise DTypeError(f"unknown combiner {shown(combiner)}; expected one of {', '.join(REDUCTIONS)}")
    made = (axes,) if isinstance(axes, IterVar) else tuple(axes)
    if combiner in ("any", "all"):
        value = boolean(value, f"the operand of {combiner}")
    elif combiner in ("sum", "prod") and value.dtype is BOOL:
        raise DTypeError(f"{combiner} of bool; use cast(..., int64) to count")
    if combiner == "first":
        if default is None:
            raise DTypeError("first needs a default, for when nothing matches")
        value, default = operands(value, default, "choose between")
    dtype = INDEX if combiner in POSITIONAL else value.dtype
    return Reduce(dtype, combiner, made, value, None if condition is None else boolean(condition), default)
