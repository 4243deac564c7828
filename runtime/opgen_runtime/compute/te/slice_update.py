"""Updates of a slice: a tensor with the elements of another one in place of those from a position on, along one axis.

out[*i] = data[*i];  for u: out[u0, u1 + start] = part[u0, u1]    -->    SliceUpdate(data, part, axis=1, start)
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base.arith import Binary, Const, Expr, Var, free_vars, structural_equal
from ...base.arith.expr import Dim
from ...base.vocabulary import dataclass
from .tensor import Compute, Loop, Put, Read, Tensor, Update


@dataclass(frozen=True, slots=True)
class SliceUpdate:
    """`whole` with `part` from `start` on along an axis; the other dims of the two are the same."""

    whole: Tensor
    part: Tensor
    axis: int
    start: Dim


def slice_update(tensor: Tensor) -> SliceUpdate | None:
    """The slice that a tensor is computed by writing; None where it is computed otherwise."""
    op = tensor.op
    whole = _copied(op.base) if isinstance(op, Update) else None
    if whole is None or not isinstance(op, Update):
        return None
    loops: list[Var] = []
    extents: list[Dim] = []
    body = op.body
    while len(body) == 1 and isinstance(loop := body[0], Loop):
        loops.append(loop.axis.var)
        extents.append(loop.axis.extent)
        body = loop.body
    put = body[0] if len(body) == 1 else None
    if not isinstance(put, Put) or put.op != "=" or not isinstance(put.value, Read):
        return None
    part = put.value.tensor
    if put.value.indices != tuple(loops) or len(loops) != whole.ndim or not _same(extents, part.shape):
        return None
    starts = [_offset(index, var) for index, var in zip(put.indices, loops, strict=True)]
    moved = [k for k, start in enumerate(starts) if start != 0]
    axes = moved or [k for k in range(whole.ndim) if not _same(whole.shape[k : k + 1], part.shape[k : k + 1])]
    axis = axes[0] if axes else 0
    rest = [k for k in range(whole.ndim) if k != axis]
    if not starts or not _same([whole.shape[k] for k in rest], [part.shape[k] for k in rest]):
        return None
    start = starts[axis]
    if start is None or any([starts[k] != 0 for k in rest]):
        return None
    return SliceUpdate(whole, part, axis, start)


def _copied(base: Tensor) -> Tensor | None:
    """The tensor that another one is, element by element."""
    body = base.op.body if isinstance(base.op, Compute) else None
    if not isinstance(base.op, Compute) or not isinstance(body, Read):
        return None
    in_order = body.indices == tuple([axis.var for axis in base.op.axes])
    return body.tensor if in_order and _same(body.tensor.shape, base.shape) else None


def _offset(index: Expr, var: Var) -> Dim | None:
    """`index - var`, where it does not depend on the place; None where there is no such number."""
    if index is var:
        return 0
    if not isinstance(index, Binary) or index.op != "add":
        return None
    for one, other in ((index.a, index.b), (index.b, index.a)):
        if one is var:
            if isinstance(other, Const):
                return int(other.value)
            return other if all([each.size for each in free_vars(other)]) else None
    return None


def _same(shape: Sequence[Dim], other: Sequence[Dim]) -> bool:
    if len(shape) != len(other):
        return False
    return all(
        [
            a == b if isinstance(a, int) or isinstance(b, int) else structural_equal(a, b)
            for a, b in zip(shape, other, strict=True)
        ]
    )
