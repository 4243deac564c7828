"""Calls that passes make, and the names of the ops that they are made of: the one place where passes name ops.

Arithmetic is written by Python's operators, which declarations bind to ops (`a * b`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..base.errors import PassError
from ..ir import Call, Constant, Expr, Tuple, const
from ..ir.operators import apply_operator
from ..operator import Attrs, Dim, Op, TensorType, Type

# What passes build with -> (op, the attr that says how).
EXPAND: Final = ("expand_dims", "axis")
RESHAPE: Final = ("reshape", "newshape")
TRANSPOSE: Final = ("transpose", "axes")
CAST: Final = ("cast", "dtype")
CONCATENATE: Final = ("concatenate", "axis")
STACK: Final = ("stack", "axis")
SPLIT: Final = ("split", "axis")
COLLAPSE: Final = ("collapse_sum_to", "shape")
FULL: Final = ("full", "shape")
BROADCAST: Final = ("broadcast_to", "shape")
CHOICE: Final = "where"
ZEROS_LIKE: Final = "zeros_like"
RESHAPE_LIKE: Final = "reshape_like"
TAKE: Final = ("take", "axis")
UPDATE: Final = "scatter_nd"
PUT: Final = ("put_slice", "axis", "start")
SLICE: Final = "strided_slice"
ALL: Final = "logical_and"
ANY: Final = "any"
NOT: Final = "logical_not"
LAYOUT: Final = ("layout_transform", "src_layout", "dst_layout")
# The ops of `arith.Binary` and `arith.Compare`: an operator, or an op that no operator is bound to.
SYMBOLS: Final = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "floormod": "%"}
NAMED: Final = {"max": "maximum", "min": "minimum"}
# Ops that keep the elements in row-major order and change the shape alone.
ORDER_KEEPING: Final = frozenset({"reshape", "expand_dims", "squeeze", "batch_flatten", "flatten"})


def call(name: str, args: Sequence[Expr], **attrs: object) -> Call:
    """A call of a declared op. Raises what its attrs and its type relation raise."""
    op = Op.get(name)
    kind: type[Attrs] | None = op.get_attr("declaration").attrs
    return Call(op, tuple(args), None if kind is None else kind(**attrs))


def transpose(x: Expr, axes: Sequence[int]) -> Expr:
    return call(TRANSPOSE[0], [x], **{TRANSPOSE[1]: tuple(axes)})


def reshape(x: Expr, shape: Sequence[Dim]) -> Expr:
    """`x` in another shape; a constant stays one where that is static."""
    sizes = [extent for extent in shape if isinstance(extent, int)]
    if isinstance(x, Constant) and len(sizes) == len(shape):
        return Constant(x.data.reshape(sizes))
    return call(RESHAPE[0], [x], **{RESHAPE[1]: tuple(shape)}, **({"allowzero": True} if 0 in shape else {}))


def layout_transform(x: Expr, source: str, target: str) -> Expr:
    """`x` stored in another layout."""
    return call(LAYOUT[0], [x], **{LAYOUT[1]: source, LAYOUT[2]: target})


def cast(x: Expr, dtype: str) -> Expr:
    return call(CAST[0], [x], **{CAST[1]: dtype})


def concatenate(xs: Sequence[Expr], axis: int) -> Expr:
    """The tensors joined; constants give a constant."""
    if all([isinstance(x, Constant) for x in xs]):
        return Constant(np.concatenate([x.data for x in xs if isinstance(x, Constant)], axis))
    return call(CONCATENATE[0], [Tuple(tuple(xs))], **{CONCATENATE[1]: axis})


def stack(xs: Sequence[Expr], axis: int) -> Expr:
    """The tensors along a new axis; constants give a constant."""
    if all([isinstance(x, Constant) for x in xs]):
        return Constant(np.stack([x.data for x in xs if isinstance(x, Constant)], axis))
    return call(STACK[0], [Tuple(tuple(xs))], **{STACK[1]: axis})


def split(x: Expr, cuts: Sequence[int], axis: int) -> Expr:
    """`x` cut at positions along an axis."""
    return call(SPLIT[0], [x], indices_or_sections=tuple(cuts), as_positions=True, **{SPLIT[1]: axis})


def collapse(x: Expr, shape: Sequence[int]) -> Expr:
    """`x` summed to a shape that broadcasts to its own."""
    return call(COLLAPSE[0], [x], **{COLLAPSE[1]: tuple(shape)})


def broadcast(x: Expr, shape: Sequence[Dim]) -> Expr:
    """`x` repeated to a shape, by numpy's rule."""
    return call(BROADCAST[0], [x], **{BROADCAST[1]: tuple(shape)})


def choose(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Elements of two tensors, by a condition that broadcasts to them."""
    return call(CHOICE, [condition, then, otherwise])


def full(value: Expr, shape: Sequence[int]) -> Expr:
    """A tensor of one value, of rank 0."""
    return call(FULL[0], [value], **{FULL[1]: tuple(shape)})


def zeros(type_: Type) -> Expr:
    """A tensor of zeros. Raises PassError for a shape that is not known."""
    if not isinstance(type_, TensorType) or not type_.is_static:
        raise PassError(f"zeros of type {type_}: expected a tensor of known shape")
    dtype = type_.dtype
    zero = 0.0 if dtype.is_inexact else False if dtype.is_bool else 0
    return full(const(zero, dtype), type_.concrete_shape)


def zeros_like(value: Expr) -> Expr:
    """A tensor of zeros of the type of a tensor, which is computed where its shape depends on data alone."""
    type_ = value.checked_type
    known = isinstance(type_, TensorType) and type_.is_static
    return zeros(type_) if known else call(ZEROS_LIKE, [value])


def reshape_like(x: Expr, value: Expr) -> Expr:
    """A tensor in the shape of another one, whose number of elements it is found to have when it runs."""
    return call(RESHAPE_LIKE, [x, value])


def row(rows: Expr, place: Expr) -> Expr:
    """The row of a tensor, along its first axis, at a place, which is an integer of rank 0."""
    return call(TAKE[0], [rows, place], **{TAKE[1]: 0})


def with_row(rows: Expr, place: Expr, value: Expr) -> Expr:
    """The tensor with another row at a place."""
    type_ = value.checked_type
    assert isinstance(type_, TensorType)
    return call(UPDATE, [rows, reshape(place, (1, 1)), reshape(value, (1, *type_.concrete_shape))])


def is_row_update(call: Call) -> bool:
    """Whether a call is one of `with_row`."""
    if call.op is not Op.get(UPDATE) or call.attrs is None or call.attrs != type(call.attrs)():
        return False
    rows, place, value = (arg.checked_type for arg in call.args)
    return (
        isinstance(rows, TensorType)
        and isinstance(place, TensorType)
        and isinstance(value, TensorType)
        and place.shape == (1, 1)
        and value.shape == (1, *rows.shape[1:])
    )


def put_slice(x: Expr, part: Expr, axis: int, start: Dim) -> Expr:
    """The tensor with the elements of another one along an axis from a position on."""
    return call(PUT[0], [x, part], **{PUT[1]: axis, PUT[2]: start})


def first(x: Expr, axis: int, count: Dim) -> Expr:
    """The first elements of a tensor along an axis, of which there are as many."""
    return call(SLICE, [x], begin=(0,), end=(count,), axes=(axis,), assume_inbound=True)


def concatenated(joined: Expr, first: Expr) -> int | None:
    """The axis along which a tensor is `first` with one other behind it; None where it is not."""
    if not isinstance(joined, Call) or joined.op is not Op.get(CONCATENATE[0]):
        return None
    (parts,) = joined.args
    if not isinstance(parts, Tuple) or len(parts.fields) != 2 or parts.fields[0] is not first:
        return None
    type_ = joined.checked_type
    assert isinstance(type_, TensorType)
    return int(getattr(joined.attrs, CONCATENATE[1])) % len(type_.shape)


def binary(op: str, a: Expr, b: Expr) -> Expr | None:
    """`a op b` for an op of `arith.Binary`; None where no op is known for it."""
    if op in NAMED:
        return call(NAMED[op], [a, b])
    if op not in SYMBOLS:
        return None
    return apply_operator(SYMBOLS[op], a, b)


def placed(x: Expr, axes: Sequence[int], ndim: int) -> Expr:
    """`x`, whose axes are those of a result of rank `ndim`, in the shape that numpy broadcasts to it.

    `axes` is increasing.  Axes of extent 1 are put between and after its own, not before.
    """
    type_ = x.checked_type
    assert isinstance(type_, TensorType)
    if isinstance(x, Constant):
        shape = [1] * ndim
        for own, axis in enumerate(axes):
            shape[axis] = x.data.shape[own]
        return Constant(x.data.reshape(shape[axes[0] if axes else ndim :]))
    ends = [*axes[1:], ndim]
    for own in reversed(range(len(axes))):
        gap = ends[own] - axes[own] - 1
        if gap:
            x = call(EXPAND[0], [x], **{EXPAND[1]: own + 1}, num_newaxis=gap)
    return x
