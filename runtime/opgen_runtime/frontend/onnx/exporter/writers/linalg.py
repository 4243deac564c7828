"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from ..nodes import Nodes, Value
from ..registry import renames, writes
from ._tools import cast, transposed

renames({"matmul": "MatMul"})


def swapped(to: Nodes, x: Value) -> Value:
    """The last two axes swapped."""
    n = x.ndim
    return transposed(to, x, (*range(n - 2), n - 1, n - 2))


@writes("dense")
def dense(to: Nodes, data: Value, weight: Value, *, units: int | None) -> Value:
    if data.ndim == 2 and data.dtype.is_float:
        return to("Gemm", data, weight, transB=1)
    return to("MatMul", data, swapped(to, weight))


@writes("batch_matmul")
def batch_matmul(
    to: Nodes, a: Value, b: Value, *, out_dtype: str | None, transpose_a: bool, transpose_b: bool
) -> Value:
    dtype = to.types[0].dtype
    left = swapped(to, a) if transpose_a else a
    right = swapped(to, b) if transpose_b else b
    return to("MatMul", cast(to, left, dtype), cast(to, right, dtype))


@writes("einsum")
def einsum(to: Nodes, data: Sequence[Value], *, equation: str) -> Value:
    return to("Einsum", *data, equation=equation)
