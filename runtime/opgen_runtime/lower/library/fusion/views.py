"""Contractions joined with what only moves elements of an operand, where they read each element a few times.

    %1 = strided_slice(%keys, end=n)                     one kernel, which reads %keys where the slice would
    %2 = transpose(%1)                        -->        have put the elements
    matmul(%q: [1, 64], %2: [64, n])

A product of a few rows takes about as long as reading its matrix does, so that to store a slice of it in order first
takes twice that.  One of many rows reads each element often, and is faster on what lies in order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....base import Target
from ....base.arith import hinted
from ....base.errors import AccessError
from ....base.vocabulary import OpPattern
from ....compute.te import Compute, Placeholder, Read, Reduce, Tensor
from ....operator import TensorType
from ..heuristics import MAX_VIEW_READS
from ..segment import segment_of
from .dataflow import Node, position
from .groups import Groups
from .partition import made_segment


def join_views(nodes: Sequence[Node], groups: Groups, target: Target) -> None:
    """Join each group that moves elements for one contraction with that; see the module's text."""
    for node in nodes:
        group = groups.find(node)
        if group.root is not node or group.pattern > OpPattern.INJECTIVE or not group.members:
            continue
        if any([member.expr is not member.call for member in group.members]):
            continue  # fields of several results, which stay together where nothing else is joined
        sink = _contraction(node)
        if sink is None or groups.find(sink) is group:
            continue
        into = groups.find(sink)
        members = sorted(group.members, key=position)
        if groups.fits([group, into]) and _is_view(members, node, target) and _reads(sink, node, target):
            groups.join([group], into)


def _contraction(node: Node) -> Node | None:
    """The contraction that alone reads a node, once."""
    if node.escapes or len(node.users) != 1:
        return None
    ((sink, _),) = node.users
    return sink if sink.pattern == OpPattern.OUT_ELEMWISE_FUSABLE else None


def _is_view(members: Sequence[Node], root: Node, target: Target) -> bool:
    """Whether each element of the root's value is one of an operand."""
    tensor = _computed(members, root, target)
    if tensor is None:
        return False
    while isinstance(tensor.op, Compute):
        if not isinstance(tensor.op.body, Read):
            return False
        tensor = tensor.op.body.tensor
    return isinstance(tensor.op, Placeholder)


def _computed(members: Sequence[Node], root: Node, target: Target) -> Tensor | None:
    """The root's value; None where dims that meet in a broadcast must be known first, as versions know them."""
    function, _ = made_segment(members, [root])
    try:
        (tensor,) = segment_of(function, target).outputs
    except AccessError:
        return None
    return tensor


def _reads(sink: Node, operand: Node, target: Target) -> bool:
    """Whether a contraction reads each element of an operand a few times, on average, for the hints of the dims."""
    kind = operand.expr.checked_type
    if not isinstance(kind, TensorType):
        return False
    tensor = _computed([sink], sink, target)
    size = math.prod([hinted(dim) for dim in kind.shape])
    return tensor is not None and _steps(tensor) <= MAX_VIEW_READS.value * size


def _steps(tensor: Tensor) -> int:
    """How many terms a contraction has."""
    steps = math.prod([hinted(dim) for dim in tensor.shape])
    if isinstance(tensor.op, Compute) and isinstance(tensor.op.body, Reduce):
        steps *= math.prod([hinted(axis.extent) for axis in tensor.op.body.axes])
    return steps
