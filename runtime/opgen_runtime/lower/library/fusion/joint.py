"""Sweeps over one space joined: a segment with several results reads what they share once.

A sweep is a group without reductions.  Two of the same shape are joined where both read a tensor of that shape, or one
reads another's result, which something else needs too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....base.vocabulary import OpPattern
from ....operator import TensorType, same_shape
from ..heuristics import MAX_RESULTS
from .dataflow import Node, position
from .groups import Group, Groups
from .order import Order


def join_sweeps(nodes: Sequence[Node], groups: Groups) -> None:
    """Join the sweeps that read, or give, the same tensor of their own shape."""
    order = Order(nodes, groups)
    for node in nodes:
        if not node.users:
            continue
        near = [user for user, _ in node.users]
        if node.call is not None:
            near.insert(0, node)
        sweeps = [group for group in groups.of(near) if _sweeps(group, node)]
        for other in sweeps[1:]:
            first = groups.find(sweeps[0].root)
            if groups.find(other.root) is not first:
                _try(first, groups.find(other.root), node, groups, order)


def _sweeps(group: Group, node: Node) -> bool:
    """Whether the group is a sweep over the shape of `node`, in its block."""
    shape, own = node.expr.checked_type, group.root.expr.checked_type
    return (
        group.pattern <= OpPattern.INJECTIVE
        and isinstance(shape, TensorType)
        and isinstance(own, TensorType)
        and same_shape(shape.shape, own.shape)
        and len(shape.shape) > 0
        and (group.root.block is node.block or node.call is None)
    )


def _try(first: Group, other: Group, node: Node, groups: Groups, order: Order) -> None:
    if first.root.block is not other.root.block:
        return
    early, behind = order.pair(first, other)
    if not groups.fits([first, other]):
        reason = f"together they have more than {groups.max_ops} ops"
    elif sum([len(results(group, groups)) for group in (first, other)]) > MAX_RESULTS.value:
        reason = f"together they have more than {MAX_RESULTS.value} results"
    elif (needing := order.needing(early, behind)) is None:
        reason = "another segment stands between them"
    else:
        later = max(first, other, key=lambda group: group.root.position)
        groups.join([first, other], later)
        order.join(early, behind, later, needing)
        return
    groups.apart[node, other.root] = reason


def results(group: Group, groups: Groups) -> list[Node]:
    """The members whose values are needed outside, in order."""
    found = [
        member
        for member in group.members
        if member.escapes or any([groups.find(user) is not group for user, _ in member.users])
    ]
    return sorted(found, key=position)
