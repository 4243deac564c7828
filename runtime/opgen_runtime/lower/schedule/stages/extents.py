"""Extents of loops, and which reduce axes are loops."""

from __future__ import annotations

from ....base.arith import Expr, floordiv, is_size
from ....compute.te.tensor import Reduce


def is_schedulable(reduce: Reduce) -> bool:
    """Whether the reduce axes can be loops of a stage: rectangular extents, and a combiner that is not `first`."""
    return reduce.combiner != "first" and all(
        isinstance(axis.extent, int) or is_size(axis.extent) for axis in reduce.axes
    )


def ceil_div(a: int | Expr, b: int) -> int | Expr:
    """`a / b` rounded up."""
    return -(-a // b) if isinstance(a, int) else floordiv(a + (b - 1), b)


def product(a: int | Expr, b: int | Expr) -> int | Expr:
    """`a * b`, an int where both are."""
    return a * b
