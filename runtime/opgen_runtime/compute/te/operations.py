"""How many arithmetic operations tensor expressions are."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ...base.arith import post_order
from ...base.arith.expr import Binary, Call, Expr
from .graph import tensor_order
from .tensor import Compute, Placeholder, Read, Reduce, Tensor


def operations(outputs: Iterable[Tensor]) -> int | None:
    """Additions, products, comparisons of reductions and element functions on floats, each counted as one.

    A product and the sum that takes it are two.  None where the count depends on values: extents that are no ints,
    scans, updates, hand-written functions.
    """
    total = 0
    for tensor in tensor_order(outputs):
        if isinstance(tensor.op, Placeholder):
            continue
        count = _of_element(tensor.op.body) if isinstance(tensor.op, Compute) else None
        extents = [dim for dim in tensor.shape if isinstance(dim, int)]
        if count is None or len(extents) != len(tensor.shape):
            return None
        total += count * math.prod(extents)
    return total


def _of_element(body: Expr) -> int | None:
    """The operations of one element, those of reductions as often as they are done."""
    counted: dict[int, int] = {}
    for node in post_order(body):
        inner = sum([counted[id(child)] for child in node.children()])
        if isinstance(node, Read):
            inner = 0  # places are no floats
        elif isinstance(node, Reduce):
            extents = [axis.extent for axis in node.axes if isinstance(axis.extent, int)]
            if len(extents) != len(node.axes):
                return None
            inner = (inner + 1) * math.prod(extents)
        elif isinstance(node, Binary | Call) and node.dtype.is_float:
            inner += 1
        counted[id(node)] = inner
    return counted[id(body)]
