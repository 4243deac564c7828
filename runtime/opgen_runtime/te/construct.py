"""Writing tensor expressions by hand: placeholders, computes, reads and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..arith import Expr, Shape, Var, boolean, const, operands
from ..errors import DTypeError, ShapeError, shown
from ..vocabulary import BOOL, INDEX, REDUCTIONS, DType
from .tensor import Compute, IterVar, Placeholder, Read, Reduce, Tensor


def placeholder(name: str, shape: Sequence[int | Expr], dtype: str) -> Tensor:
    """An input of the kernel."""
    return Tensor(name, tuple(shape), DType(dtype), Placeholder())


def data_axes(shape: Shape, names: Sequence[str] = ()) -> tuple[IterVar, ...]:
    """One axis for each dim of `shape`, named i0, i1, ... where no name is given."""
    return tuple(
        IterVar(Var(INDEX, names[d] if d < len(names) else f"i{d}"), extent) for d, extent in enumerate(shape)
    )


def compute(name: str, shape: Sequence[int | Expr], dtype: str, fn: Callable[..., Expr]) -> Tensor:
    """A tensor with `out[i0, i1, ...] = fn(i0, i1, ...)`.

    Raises DTypeError where the body's dtype is not `dtype` (an `index` body may fill an int64 tensor).
    """
    axes = data_axes(tuple(shape))
    want = DType(dtype)
    body = fn(*(axis.var for axis in axes))
    if body.dtype is not want and not (body.dtype is INDEX and want == "int64"):
        raise DTypeError(f"{name}: the body is {body.dtype}, the tensor {want}; use cast(..., {want})")
    return Tensor(name, tuple(shape), want, Compute(axes, body))


def reduce_axis(extent: int | Expr, name: str) -> IterVar:
    """A reduction axis: 0 <= var < extent."""
    return IterVar(Var(INDEX, name), extent, "reduce")


def read(tensor: Tensor, *indices: int | Expr) -> Read:
    """`tensor[indices]`.  Raises ShapeError for a wrong number of indices, DTypeError for one that is no integer."""
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
    dtype = INDEX if combiner in ("argmax", "argmin") else value.dtype
    return Reduce(dtype, combiner, made, value, None if condition is None else boolean(condition), default)
