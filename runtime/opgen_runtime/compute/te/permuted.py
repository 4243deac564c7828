"""Whether a computation is another one whose operands and results are stored with their axes in another order.

    order (0, 2, 3, 1): axis k of what is stored is axis order[k] of what it stands for, such as NHWC of NCHW

It is proved from the expressions, so that it holds for any op that is declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from ...base.arith import (
    Analyzer,
    Expr,
    Select,
    Var,
    cast,
    post_order,
    rewrite,
    select,
    structural_equal,
    substitute,
)
from .graph import tensor_order
from .roles import passed_axes, plain
from .tensor import Compute, IterVar, Placeholder, Read, Reduce, Tensor

Order: TypeAlias = tuple[int, ...]

_MAX_NODES: Final = 2000  # nodes of a body that holds all that it is computed from


def is_permuted(
    before: Tensor, after: Tensor, operands: Mapping[Tensor, tuple[Tensor, Order]], order: Order
) -> bool:
    """Whether `after` is `before` stored in an order, every element computed in the same steps.

    `operands`: for each that `after` reads the operand of `before` that it stands for, and its order.  False where it
    cannot be proved, as of scans and hand-written functions.
    """
    if after.shape != tuple([before.shape[axis] for axis in order]) or after.dtype != before.dtype:
        return False
    own = {tensor: (tensor, tuple(range(tensor.ndim))) for tensor, _ in operands.values()}
    first, second = _whole(before, own), _whole(after, operands)
    if first is None or second is None:
        return False
    axes = first[0]
    places: dict[Var, Expr] = {mine.var: axes[k].var for mine, k in zip(second[0], order, strict=True)}
    return structural_equal(_canonical(first[1], axes), _canonical(substitute(second[1], places), axes))


def result_orders(
    before: Tensor, after: Tensor, operands: Mapping[Tensor, tuple[Tensor, Order]]
) -> list[Order]:
    """The orders in which `after` may stand for `before`, the likelier first: as the operands' axes pass through."""
    if before.ndim != after.ndim:
        return []
    place: dict[int, int] = {}
    for tensor, (origin, order) in operands.items():
        theirs, mine = passed_axes(before, origin), passed_axes(after, tensor)
        for own, axis in enumerate(mine):
            passed = theirs[order[own]]
            if axis is not None and passed is not None and passed not in place.values():
                place.setdefault(axis, passed)
    rest = iter([axis for axis in range(before.ndim) if axis not in place.values()])
    found = [tuple([place[axis] if axis in place else next(rest) for axis in range(after.ndim)])]
    found += [order for _, order in operands.values() if len(order) == after.ndim]
    return list(dict.fromkeys(found))


def _whole(
    output: Tensor, operands: Mapping[Tensor, tuple[Tensor, Order]]
) -> tuple[tuple[IterVar, ...], Expr] | None:
    """The axes of a tensor and its body, which reads operands alone; None where there is no such body."""
    bodies: dict[Tensor, tuple[tuple[IterVar, ...], Expr]] = {}

    def written(node: Expr) -> Expr | None:
        if not isinstance(node, Read):
            return None
        if node.tensor in operands:
            tensor, order = operands[node.tensor]
            return Read(node.dtype, tensor, tuple([node.indices[order.index(k)] for k in range(tensor.ndim)]))
        axes, body = bodies[node.tensor]
        places = zip(axes, node.indices, strict=True)
        return substitute(body, {axis.var: cast(at, axis.var.dtype) for axis, at in places})

    for tensor in tensor_order([output]):
        if tensor in operands:
            continue
        op = tensor.op
        if isinstance(op, Placeholder) or not isinstance(op, Compute):
            return None
        body = rewrite(op.body, written)
        if len(post_order(body)) > _MAX_NODES:
            return None
        bodies[tensor] = op.axes, body
    return bodies.get(output)


def _canonical(body: Expr, axes: Sequence[IterVar]) -> Expr:
    """`body` with its indices and choices in the one form that they have over the axes' extents."""
    analyzer = Analyzer()
    inner = [axis for node in post_order(body) if isinstance(node, Reduce) for axis in node.axes]
    for axis in {each.var: each for each in (*axes, *inner)}.values():
        analyzer.bind(axis.var, 0, axis.extent)

    def canonical(node: Expr) -> Expr | None:
        if isinstance(node, Select):
            condition = analyzer.simplify(node.condition)
            return None if condition is node.condition else select(condition, node.then, node.otherwise)
        if not isinstance(node, Read):
            return None
        return Read(
            node.dtype, node.tensor, tuple([plain(analyzer.simplify(plain(at))) for at in node.indices])
        )

    return rewrite(body, canonical)
