"""Products of matrices, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ....ir import Expr, const
from ..emit import op
from ..errors import NotSupported
from ..rules import Flag, converts
from ._tools import arange, at_least, dtype, index, ndim, reshape, scalar, shape, sizes


@converts("MatMul")
def matmul(a: Expr, b: Expr) -> Expr:
    """numpy's matmul."""
    return product_of(a, b, op.matmul)


def product_of(a: Expr, b: Expr, multiplied: Callable[[Expr, Expr], Expr]) -> Expr:
    """A product of matrices; vectors become a row or a column, which the result does not keep."""
    left = reshape(a, (1, *shape(a))) if ndim(a) == 1 else a
    right = reshape(b, (*shape(b), 1)) if ndim(b) == 1 else b
    product = multiplied(left, right)
    dims = list(sizes(product))
    if ndim(b) == 1:
        dims.pop()
    if ndim(a) == 1:
        dims.pop(-2 if ndim(b) != 1 else -1)
    return reshape(product, dims)


@converts("Gemm")
def gemm_1(
    a: Expr,
    b: Expr,
    c: Expr,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    broadcast: Flag = 0,
    transA: Flag = 0,
    transB: Flag = 0,
) -> Expr:
    return gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)


@converts("Gemm", since=7)
def gemm(
    a: Expr,
    b: Expr,
    c: Expr | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: Flag = 0,
    transB: Flag = 0,
) -> Expr:
    left = op.transpose(a, axes=(1, 0)) if transA else a
    result = op.dense(left, b) if transB else op.matmul(left, b)
    if alpha != 1.0:
        result = op.multiply(result, scalar(alpha, dtype(a)))
    if c is None or beta == 0.0:
        return result
    return op.add(result, c if beta == 1.0 else op.multiply(c, scalar(beta, dtype(a))))


@converts("Einsum")
def einsum(*operands: Expr, equation: str) -> Expr:
    return op.einsum(list(operands), equation="".join(equation.split()))


@converts("Det")
def det(x: Expr) -> Expr:
    """Elimination with row pivoting, unrolled over the columns."""
    *batch, n, m = at_least(x, 2)
    if n != m:
        raise NotSupported(f"the determinant of matrices of {n} by {m}")
    rows = math.prod(batch)
    a = reshape(x, (rows, n, n))
    result = op.broadcast_to(const(1.0, dtype(x)), shape=(rows,))
    for k in range(n):
        left = n - k
        column = index(a, 2, 0)
        pivot = op.argmax(op.abs(column), axis=1, keepdims=False)
        places = op.cast(op.expand_dims(pivot, axis=1), dtype="int64")
        order = arange(left)[None, :]
        swapped = op.where(op.equal(order, places), np.zeros((), np.int64), order)
        swapped = op.where(op.equal(order, np.zeros((), np.int64)), places, swapped)
        batches = np.broadcast_to(arange(rows)[:, None], (rows, left))
        a = op.gather_nd(a, op.stack([const(batches), swapped], axis=2))
        head = op.strided_slice(a, begin=(0,), end=(1,), axes=(1,))
        value = reshape(op.strided_slice(head, begin=(0,), end=(1,), axes=(2,)), (rows,))
        sign = op.where(
            op.equal(reshape(places, (rows,)), np.zeros((), np.int64)), const(1.0, dtype(x)), -1.0
        )
        result = op.multiply(op.multiply(result, value), sign)
        if left == 1:
            break
        safe = op.where(op.equal(value, 0.0), const(1.0, dtype(x)), value)
        rest = op.strided_slice(a, begin=(1,), end=(left,), axes=(1,))
        factor = op.divide(
            op.strided_slice(rest, begin=(0,), end=(1,), axes=(2,)), reshape(safe, (rows, 1, 1))
        )
        lower = op.strided_slice(rest, begin=(1,), end=(left,), axes=(2,))
        above = op.strided_slice(head, begin=(1,), end=(left,), axes=(2,))
        a = op.subtract(lower, op.multiply(factor, above))
    return reshape(result, batch)
