"""Factors of products that are read where data decides, stored: once for all results that share them.

    out[o, y] = sum(x[at[y, r]] * w[o, r] for r)
-->
    out_at[y, r] = x[at[y, r]]     out[o, y] = sum(out_at[y, r] * w[o, r] for r)

What is read where data decides is scattered, one element after the other: so it is once for an element of the factor,
whose adjoint is a product, and not once for a product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....base.arith import Binary, Expr, free_vars, post_order
from ..graph import tensor_order
from ..tensor import Compute, IterVar, Read, Reduce, Tensor, tensors_read
from .ranges import simplified
from .stages import rebuilt, stored


def shared(outputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs over such factors."""
    made = tuple(outputs)
    changed = {t: whole for t in tensor_order(made) if (whole := _over_factors(t)) is not None}
    return rebuilt(made, changed) if changed else made


def _over_factors(tensor: Tensor) -> Tensor | None:
    """The tensor with such factors stored; None where it has none."""
    op = tensor.op
    if not isinstance(op, Compute) or not isinstance(op.body, Reduce) or op.body.combiner != "sum":
        return None
    node, value = op.body, op.body.value
    axes = (*op.axes, *node.axes)
    known = all([isinstance(axis.extent, int) for axis in axes])
    if not known or node.condition is not None or not isinstance(value, Binary) or value.op != "mul":
        return None
    a, b = (_stored(f"{tensor.name}_at", factor, axes) for factor in (value.a, value.b))
    if a is None and b is None:
        return None
    product = value.rebuild((value.a if a is None else a, value.b if b is None else b))
    body = Reduce(node.dtype, node.combiner, node.axes, product)
    return Tensor(tensor.name, tensor.shape, tensor.dtype, Compute(op.axes, body))


def _stored(name: str, factor: Expr, axes: Sequence[IterVar]) -> Expr | None:
    """The factor as an element of a tensor over the axes that it moves with; None where it is none of these."""
    if not any(
        isinstance(node, Read) and any(map(tensors_read, node.indices)) for node in post_order(factor)
    ):
        return None
    factor = simplified(factor, {axis.var: axis.extent for axis in axes})
    moved = set(free_vars(factor))
    own = [axis for axis in axes if axis.var in moved]
    if math.prod([int(axis.extent) for axis in axes if axis.var not in moved]) == 1:
        return None
    return stored(name, own, factor)
