"""How many arithmetic operations tensor expressions are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ...base.arith import post_order
from ...base.arith.expr import Binary, Call, Cast, Expr
from .graph import tensor_order
from .tensor import Compute, IterVar, Placeholder, Read, Reduce, Scan, Tensor


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


def products_added(outputs: Iterable[Tensor]) -> int | None:
    """Products that reductions sum, each as often as that is done; None where extents are no ints."""
    total = 0
    for tensor in tensor_order(outputs):
        bodies: list[tuple[Expr, Iterable[IterVar]]] = []
        if isinstance(tensor.op, Compute):
            bodies.append((tensor.op.body, tensor.op.axes))
        elif isinstance(tensor.op, Scan):  # each state is a tensor of its own
            bodies += [
                (s.body, s.axes) for s in tensor.op.states if s.tensor is tensor and s.body is not None
            ]
        for body, axes in bodies:
            each = _products_of_element(body)
            times = _times(axes)
            if each and times is not None:
                total += each * times
            elif each is None or each:
                return None
    return total


def summed_factors(outputs: Iterable[Tensor]) -> Iterator[tuple[frozenset[Tensor], frozenset[Tensor]]]:
    """Of each product that a reduction sums, the placeholders that either factor is made of."""
    sources: dict[Tensor, frozenset[Tensor]] = {}

    def of(value: Expr) -> frozenset[Tensor]:
        return frozenset().union(*[sources[n.tensor] for n in post_order(value) if isinstance(n, Read)])

    for tensor in tensor_order(outputs):
        if not isinstance(tensor.op, Compute):
            below = [sources[each] for each in tensor.op.inputs()]
            sources[tensor] = frozenset((tensor,)).union(*below)
            continue
        sources[tensor] = of(tensor.op.body)
        for node in post_order(tensor.op.body):
            if isinstance(node, Reduce) and node.combiner == "sum":
                value = _plain(node.value)
                if isinstance(value, Binary) and value.op == "mul":
                    yield of(value.a), of(value.b)


def _products_of_element(body: Expr) -> int | None:
    """The products that the reductions of one element sum; None where their extents are no ints."""
    counted: dict[int, int] = {}
    for node in post_order(body):
        inner = sum([counted[id(child)] for child in node.children()])
        if isinstance(node, Reduce):
            own = inner + (node.combiner == "sum" and _is_product(node.value))
            times = _times(node.axes) if own else 0
            if times is None:
                return None
            inner = own * times
        counted[id(node)] = inner
    return counted[id(body)]


def _is_product(value: Expr) -> bool:
    found = _plain(value)
    return isinstance(found, Binary) and found.op == "mul"


def _plain(value: Expr) -> Expr:
    while isinstance(value, Cast):
        value = value.a
    return value


def _times(axes: Iterable[IterVar]) -> int | None:
    """The product of the extents; None where one is no int."""
    extents = [axis.extent for axis in axes]
    known = [extent for extent in extents if isinstance(extent, int)]
    return math.prod(known) if len(known) == len(extents) else None


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
