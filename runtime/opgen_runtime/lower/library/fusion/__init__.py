"""Fusion: which ops of a function become one kernel.

dataflow.py   the graph of a function's body, and the post-dominator of each node
groups.py     nodes that are to be one segment; joined by the patterns of their ops
rows.py       reductions joined with what reads them, row by row
views.py      what moves elements, joined with the contraction that reads them
fields.py     the fields of an op of several results that nothing was joined with
order.py      groups in an order in which they can be computed
joint.py      sweeps over one space joined, so that a segment has several results
reasons.py    why ops are in different segments
partition.py  the body with each group replaced by a call of its segment
"""

from .dataflow import Node, dataflow, find_post_dominators, is_op_call
from .fields import join_fields
from .groups import Groups, join_by_pattern
from .joint import join_sweeps
from .partition import partition
from .reasons import reasons
from .rows import join_rows
from .views import join_views

__all__ = [
    "Groups",
    "Node",
    "dataflow",
    "find_post_dominators",
    "is_op_call",
    "join_by_pattern",
    "join_fields",
    "join_rows",
    "join_sweeps",
    "join_views",
    "partition",
    "reasons",
]
