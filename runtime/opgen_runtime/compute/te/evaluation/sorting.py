"""Sorts by numpy, of integers that are ordered as the elements are.

float32   -inf      -1.5         -0.0         0.0          inf          NaN
uint32    0x7fffff  0x403fffff   0x7fffffff   0x80000000   0xff800000   0xffffffff
"""

from __future__ import annotations

import numpy as np

from ....base.vocabulary import DType
from ..tensor import Sort, Tensor
from .operations import Array


def sort(tensor: Tensor, op: Sort, source: Array, count: int) -> Array:
    """The first `count` elements of each line along the axis, or where they stand, as an array of `tensor`'s dtype."""
    keys = _keys(source, op)
    if op.positions:
        order = np.argsort(keys, axis=op.axis, kind="stable")
        return np.ascontiguousarray(np.take(order, np.arange(count), op.axis).astype(tensor.dtype.numpy))
    found = np.take(np.sort(keys, axis=op.axis), np.arange(count), op.axis)
    return np.ascontiguousarray(_elements(found, op))


def _keys(source: Array, op: Sort) -> Array:
    """Unsigned integers in the order of the elements; equal ones for zeros of either sign where positions are asked."""
    dtype = op.source.dtype
    bits = np.asarray(source).view(_unsigned(dtype))
    sign = _sign(dtype)
    if dtype.is_float:
        bits = np.where(bits == sign, 0, bits).astype(bits.dtype) if op.positions else bits
        keys = np.where(bits & sign, ~bits, bits | sign)
        keys = np.where(np.isnan(source), ~np.zeros_like(bits), keys)
    else:
        keys = bits ^ sign if dtype.is_signed else bits
    return ~keys if op.descending else keys


def _elements(keys: Array, op: Sort) -> Array:
    """The elements that have these keys."""
    dtype = op.source.dtype
    sign = _sign(dtype)
    bits = ~keys if op.descending else keys
    if dtype.is_float:
        bits = np.where(bits & sign, bits ^ sign, ~bits)
    elif dtype.is_signed:
        bits = bits ^ sign
    return np.ascontiguousarray(bits).view(dtype.numpy)


def _unsigned(dtype: DType) -> np.dtype[np.generic]:
    return np.dtype(f"uint{dtype.bits}")


def _sign(dtype: DType) -> np.generic:
    """The bit of the sign."""
    return _unsigned(dtype).type(1 << (dtype.bits - 1))
