"""What mappings share: types of operands, small programs of several ops."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ....base.arith import Const, maximum, minimum
from ....base.arith import Expr as DimExpr
from ....base.vocabulary import DType
from ....ir import Expr, const
from ....operator import Dim, TensorType, dims_equal, shape_text, simplified
from ..emit import op
from ..errors import ModelError, NotSupported
from ..limits import spending


def tensor_type(x: Expr) -> TensorType:
    """The type of a tensor."""
    found = x.checked_type
    assert isinstance(found, TensorType), f"{found} is no tensor"
    return found


def dtype(x: Expr) -> DType:
    return tensor_type(x).dtype


def ndim(x: Expr) -> int:
    return tensor_type(x).ndim


def shape(x: Expr) -> tuple[int, ...]:
    """The shape as ints. Raises NotSupported where a dim is not known."""
    found = tensor_type(x)
    if not found.is_static:
        raise NotSupported(f"the shape {shape_text(found.shape)} is not known; give the shapes of the inputs")
    return found.concrete_shape


def extent(x: Expr, axis: int) -> int:
    """The extent of one axis.  Raises ModelError where there is no such axis, NotSupported where it is not known."""
    check_rank(x, axis + 1 if axis >= 0 else -axis)
    return known(sizes(x)[axis], axis)


def known(size: Dim, axis: int) -> int:
    """The extent of an axis that has this size.  Raises NotSupported where it is open."""
    if not isinstance(size, int):
        raise NotSupported(f"the extent {size} of axis {axis} is not known; give the shapes of the inputs")
    return size


def sizes(x: Expr) -> tuple[Dim, ...]:
    """The shape, of ints and of dims that are not known."""
    return tensor_type(x).shape


def check_rank(x: Expr, least: int, most: int | None = None) -> None:
    """Raises ModelError for a tensor of fewer axes, or of more."""
    if ndim(x) < least or (most is not None and ndim(x) > most):
        wanted = (
            f"at least {least}" if most is None else f"{least}" if least == most else f"{least} to {most}"
        )
        raise ModelError(f"a tensor of shape {_listed(sizes(x))}, expected {wanted} axes")


def check_shape(name: str, x: Expr, wanted: Sequence[Dim]) -> None:
    """Raises ModelError for an input of another shape; extents that are not known may be any."""
    found = sizes(x)
    if len(found) != len(wanted) or any(
        [a != b for a, b in zip(found, wanted, strict=True) if isinstance(a, int) and isinstance(b, int)]
    ):
        raise ModelError(f"the input {name!r} has the shape {_listed(found)}, expected {_listed(wanted)}")


def _listed(dims: Sequence[Dim]) -> str:
    """Dims as models list them: `[3, n]`."""
    return f"[{shape_text(dims)[1:-1].removesuffix(',')}]"


def at_least(x: Expr, rank: int) -> tuple[int, ...]:
    """The shape of a tensor of at least so many axes. Raises ModelError for one of fewer."""
    check_rank(x, rank)
    return shape(x)


def exactly(x: Expr, rank: int) -> tuple[int, ...]:
    """The shape of a tensor of so many axes. Raises ModelError for another."""
    check_rank(x, rank, rank)
    return shape(x)


def axis_of(axis: int, rank: int) -> int:
    """The axis counted from the first. Raises ModelError for one that a tensor of that rank does not have."""
    if not -rank <= axis < rank:
        raise ModelError(f"axis {axis} of a tensor of rank {rank}")
    return axis % rank


def axes_of(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    return tuple([axis_of(axis, rank) for axis in axes])


def reshape(x: Expr, to: Sequence[Dim]) -> Expr:
    """`x` in another shape; itself where it has that shape.  Raises NotSupported for extents of 0 beside open dims."""
    if not tensor_type(x).is_static:
        return _reshape_open(x, to)
    if shape(x) == tuple(to):
        return x
    if math.prod(to) != math.prod(shape(x)):
        raise ModelError(f"a tensor of shape {list(shape(x))} cannot have the shape {list(to)}")
    if 0 in to and 0 in shape(x):  # in the op's attr a 0 stands for the extent of the input
        return full([n for n in to if isinstance(n, int)], 0, dtype(x))
    return op.reshape(x, newshape=tuple(to))


def _reshape_open(x: Expr, to: Sequence[Dim]) -> Expr:
    own = sizes(x)
    to = [n if isinstance(n, int) else at_least_0(n) for n in to]  # n - 1 is no -1 in disguise
    if len(own) == len(to) and all(dims_equal(a, b) for a, b in zip(own, to, strict=True)):
        return x
    if 0 in to or 0 in own:
        raise NotSupported(f"a tensor of shape {shape_text(own)} in the shape {shape_text(to)}")
    kept = [place < len(own) and dims_equal(own[place], dim) for place, dim in enumerate(to)]
    newshape = [
        dim if isinstance(dim, int) else 0 if same else -1 for same, dim in zip(kept, to, strict=True)
    ]
    if newshape.count(-1) < 2:
        made = op.reshape(x, newshape=tuple(newshape))
        if all([isinstance(n, int) or dims_equal(n, dim) for n, dim in zip(to, sizes(made), strict=True)]):
            return made
    return op.reshape(x, newshape=tuple(to), allowzero=True)  # a run shows whether the elements are as many


def with_rest(own: Sequence[Dim], to: Sequence[Dim]) -> list[Dim]:
    """Extents of which one may be -1, which stands for what is left of `own`: without it, where that can be told."""
    if not any([isinstance(n, int) and n == -1 for n in to]):
        return list(to)
    given, left = [n for n in to if not isinstance(n, int) or n != -1], list(own)
    for size in [n for n in given if not isinstance(n, int)]:
        same = [n for n in left if dims_equal(n, size)]
        if same:
            given.remove(size)
            left.remove(same[0])
    divisor = math.prod([n for n in given if isinstance(n, int)])
    whole = math.prod([n for n in left if isinstance(n, int)])
    if len(given) != sum([isinstance(n, int) for n in given]) or not divisor or whole % divisor:
        return list(to)
    rest = math.prod([n for n in left if not isinstance(n, int)], start=whole // divisor)
    return [rest if isinstance(n, int) and n == -1 else n for n in to]


def transpose(x: Expr, axes: Sequence[int]) -> Expr:
    return x if tuple(axes) == tuple(range(ndim(x))) else op.transpose(x, axes=tuple(axes))


def move_axis(x: Expr, source: int, to: int) -> Expr:
    """`x` with one axis in another place."""
    order = [d for d in range(ndim(x)) if d != source]
    order.insert(to, source)
    return transpose(x, order)


def cast(x: Expr, to: str) -> Expr:
    return x if dtype(x) == to else op.cast(x, dtype=to)


def room(*extents: int, itemsize: int = 8) -> None:
    """Asks for room for an array that a mapping makes. Raises ModelError where it is too large."""
    spending().array(extents, itemsize)


def arange(size: int) -> np.ndarray:
    """The int64 numbers from 0 to `size` (exclusive), as few or as many as a model may ask for."""
    room(max(size, 0))
    return np.arange(size, dtype=np.int64)


def of_size(size: Dim) -> Expr:
    """A size as an int64 scalar."""
    return scalar(size, "int64") if isinstance(size, int) else reshape(op.shape_to_tensor(shape=(size,)), ())


def positions(size: Dim, ndim: int = 1, axis: int = 0) -> Expr:
    """The int64 numbers from 0 to `size` (exclusive) along one axis of a tensor of so many, of extent 1 elsewhere."""
    shaped = tuple([-1 if d == axis else 1 for d in range(ndim)])
    if isinstance(size, int):
        return const(arange(size).reshape(shaped))
    found = op.arange(stop=size, dtype="int64")
    return unsqueeze(found, [d for d in range(ndim) if d != axis])


def ones_of(x: Expr, kind: str) -> Expr:
    """Ones of a dtype in the shape of a tensor, whose dims may be open."""
    return cast(op.ones_like(x), kind)


def full(to: Sequence[int], value: object, kind: str) -> Expr:
    """A constant tensor of one value."""
    room(*to, itemsize=DType(kind).numpy.itemsize)
    return const(np.full(tuple(to), value, DType(kind).numpy))


def scalar(value: object, kind: str) -> Expr:
    """A scalar constant, converted as numpy converts."""
    return const(np.array(value, DType(kind).numpy))


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(np.broadcast_shapes(*[tuple(s) for s in shapes]))
    except ValueError as error:
        raise ModelError(f"the shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast") from error


def take_slice(x: Expr, axis: int, begin: int, end: int, step: int = 1) -> Expr:
    """Positions begin to end (exclusive) of one axis. Raises ModelError where there is no such axis."""
    axis_of(axis, ndim(x))
    if (begin, step) == (0, 1) and end == sizes(x)[axis]:
        return x
    return op.strided_slice(x, begin=(begin,), end=(end,), strides=(step,), axes=(axis,))


def cut(x: Expr, axis: int, begin: Dim, end: Dim, step: int = 1) -> Expr:
    """Positions begin to end (exclusive) of one axis, which may be sizes; a program for all sizes refuses others than
    those that lie inside.
    """
    if (begin, step) == (0, 1) and dims_equal(end, sizes(x)[axis]):
        return x
    return op.strided_slice(x, begin=(begin,), end=(end,), strides=(step,), axes=(axis,), assume_inbound=True)


def simple(size: Dim) -> Dim:
    """A size in its simplest form, an int where it is one."""
    found = simplified(size) if isinstance(size, DimExpr) else size
    return int(found.value) if isinstance(found, Const) else found


def within(position: Dim, extent: Dim) -> Dim:
    """A position, or the end of the axis where it lies beyond."""
    if isinstance(position, int) and isinstance(extent, int):
        return min(position, extent)
    return simple(minimum(position, extent))


def at_least_0(size: Dim) -> Dim:
    return max(size, 0) if isinstance(size, int) else simple(maximum(size, 0))


def index(x: Expr, axis: int, position: int) -> Expr:
    """One position of an axis, which is dropped."""
    return op.squeeze(take_slice(x, axis, position, position + 1), axis=(axis,))


def unsqueeze(x: Expr, axes: Iterable[int]) -> Expr:
    """New axes of extent 1 at the given places of the result."""
    axes = list(axes)
    rank = ndim(x) + len(axes)
    places = set(axes_of(axes, rank))
    if len(places) != len(axes):
        raise ModelError(f"axes {tuple(axes)} name one place twice")
    if not tensor_type(x).is_static:
        for place in sorted(places):
            x = op.expand_dims(x, axis=place)
        return x
    rest = iter(sizes(x))
    return reshape(x, [1 if d in places else next(rest) for d in range(rank)])


def concatenate(parts: Sequence[Expr], axis: int) -> Expr:
    if not parts:
        raise ModelError("nothing to concatenate")
    return parts[0] if len(parts) == 1 else op.concatenate(list(parts), axis=axis_of(axis, ndim(parts[0])))
