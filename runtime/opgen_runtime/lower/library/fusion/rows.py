"""Reductions joined with what reads them, row by row.

`x - max(x, axis)` reads all of a row before it writes any of it: as two kernels it reads x twice from memory, as one
it does so row by row, while the row is in the cache.  Whether rows can be told apart follows from the tensor
expressions, not from the ops' names: the candidates' program is made, and the library of schedules asked whether
it can hold it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....base import Target
from ....base.vocabulary import OpPattern
from ....operator import TensorType
from ..schedules import why_not_by_rows
from ..segment import segment_of
from .dataflow import Node, position
from .groups import Groups
from .partition import made_segment


def join_rows(nodes: Sequence[Node], groups: Groups, target: Target) -> None:
    """Join each group with its post-dominator's and what lies between, where the program of all is one of rows."""
    for node in nodes:
        sink = node.parent
        group = groups.find(node)
        if sink is None or group.root is not node or group is groups.find(sink):
            continue
        between = groups.between(node, sink, _may_join)
        if between is None or not _may_join(group.pattern, False):
            continue
        joined = groups.of([node, *between, sink])
        if not any([each.pattern == OpPattern.COMM_REDUCE for each in joined]) or not groups.fits(joined):
            continue
        members = sorted([member for each in joined for member in each.members], key=position)
        reason = _why_not(members, groups.find(sink).root, target)
        if reason is None:
            groups.join(joined, groups.find(sink))
        else:
            groups.apart[node, sink] = reason


def _may_join(found: OpPattern, is_sink: bool) -> bool:
    return found <= OpPattern.COMM_REDUCE


def _why_not(members: Sequence[Node], root: Node, target: Target) -> str | None:
    """Why the members cannot be computed row by row; None if they can."""
    function, operands = made_segment(members, [root])
    types = [operand.checked_type for operand in operands] + [root.expr.checked_type]
    if not all([isinstance(each, TensorType) and each.is_static for each in types]):
        return "its rows are not known before the dims are"
    return why_not_by_rows(segment_of(function, target).outputs, target)
