"""sort and argsort: the elements of each line of a tensor in order, and where they stand."""

from __future__ import annotations

from ....base.arith import Expr
from ....base.errors import DTypeError, ShapeError
from ....base.vocabulary import INT64, DType
from ..contract import verify_tensor
from ..tensor import Sort, Tensor
from .defined import defining


@defining
def sort(
    data: Tensor,
    axis: int = -1,
    descending: bool = False,
    count: int | Expr | None = None,
    name: str = "sort",
) -> Tensor:
    """The elements of `data` in order along an axis, the first `count` of them, all by default.

    The least comes first, or the greatest (`descending`); NaN counts as the greatest, -0.0 as less than 0.0.  Raises
    ShapeError for an axis that there is not, and for a count that is greater than the extent.
    """
    return _sorted(data, axis, descending, count, name, data.dtype, positions=False)


@defining
def argsort(
    data: Tensor,
    axis: int = -1,
    descending: bool = False,
    count: int | Expr | None = None,
    dtype: str = INT64,
    name: str = "argsort",
) -> Tensor:
    """The positions (int32 or int64) that bring the elements of `data` in order along an axis, `count` of them.

    Of equal elements, such as zeros of either sign, the first comes first; else as `sort`.  Raises as `sort` does, and
    DTypeError for another dtype.
    """
    return _sorted(data, axis, descending, count, name, DType(dtype), positions=True)


def _sorted(
    data: Tensor,
    axis: int,
    descending: bool,
    count: int | Expr | None,
    name: str,
    dtype: DType,
    positions: bool,
) -> Tensor:
    if not -data.ndim <= axis < data.ndim:
        raise ShapeError(f"{name}: {data.name} has {data.ndim} dims, there is no axis {axis}")
    if data.dtype.is_complex:
        raise DTypeError(f"{name}: {data.dtype} values have no order; sort abs(x) or real(x)")
    at = axis % data.ndim
    extent = data.shape[at] if count is None else count
    shape = (*data.shape[:at], extent, *data.shape[at + 1 :])
    made = Tensor(name, shape, dtype, Sort(data, at, descending, positions))
    verify_tensor(made, f"te.{name}")
    return made
