"""Prefetches of what machines do not foresee, or foresee too late.

Later tiles of a contraction read few lines of each of many planes; later rows are read at once, and then long not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from .....base import Target
from .....base.arith import free_vars, holds, post_order
from .....compute.te.tensor import IterVar, Read, Tensor
from ....schedule import Stage
from ....schedule.stages.kind import ForKind
from .access import analyse, contiguous_groups, likely, likely_extent
from .parameters import PREFETCHED
from .plan import is_own


def fills_cache_lines(target: Target) -> bool:
    """Whether a vector is a line of the cache: shorter ones take so many loads that what is next comes in time."""
    return target.vector_bits >= 8 * target.machine.line


def prefetch_operands(leader: Stage, flat: Stage, at: IterVar, target: Target) -> None:
    """What the leader adds to the product, where it is much: the next tile's is prefetched while this one is made."""
    assert leader.body is not None
    if likely_extent(leader.axes) * leader.tensor.dtype.itemsize <= target.machine.l2_streaming:
        return
    reads = [node for node in post_order(leader.body) if isinstance(node, Read)]
    for tensor in dict.fromkeys(read.tensor for read in reads if is_own(read, leader)):
        if tensor is not flat.tensor:
            leader.prefetch(tensor, at, 1)


def prefetch_gathered(stage: Stage, loop: IterVar, column: IterVar, target: Target) -> None:
    """Lines of a large table at indices that are data are prefetched a few iterations before, as no machine
    foresees them.

    `column` goes through a line, no longer than a machine needs to see where it leads.
    """
    assert stage.body is not None
    machine = target.machine
    for read in [node for node in post_order(stage.body) if isinstance(node, Read) and node.indices]:
        *leading, last = read.indices
        size = math.prod([likely(extent) for extent in read.tensor.shape]) * read.tensor.dtype.itemsize
        lines = likely(column.extent) * read.tensor.dtype.itemsize // machine.line
        gathered = last is column.var and any(holds(index, Read) for index in leading)
        moved = any(column.var in free_vars(index) for index in leading)
        few = 1 <= lines <= machine.max_prefetched_lines
        if gathered and not moved and size >= machine.llc_operand and few:
            stage.prefetch(read.tensor, loop, PREFETCHED.of(target))


def prefetch_sequential(stage: Stage, loop: IterVar, step: int, target: Target) -> None:
    """What a stage goes through from one end to the other, `step` elements an iteration, is prefetched a while before.

    Vectors as long as lines mostly begin within one, and each waits for two.
    """
    assert stage.body is not None
    if fills_cache_lines(target):
        distance = target.machine.prefetch_distance_bytes
        for read in analyse(stage.body, stage.tensor.dtype).reads:
            stage.prefetch(read.tensor, loop, max(1, distance // (step * read.tensor.dtype.itemsize)))


def prefetch_rows(stages: Sequence[Stage], total: int, rows: int, target: Target) -> None:
    """What later rows read of large operands is prefetched while expensive functions of these `rows` of `total`
    are computed.

    That is where a stage goes through an operand as it lies: each step has a hint of what is so many rows further on.
    """
    for stage in stages:
        assert stage.body is not None
        accesses = analyse(stage.body, stage.tensor.dtype)
        loop = next((leaf for leaf in reversed(stage.leaves) if stage.kind(leaf) is ForKind.SERIAL), None)
        if accesses.cycles(target) < target.machine.cycles["function"] or loop is None:
            continue
        axes = (*stage.axes, *stage.reduce_axes)
        elements, step = likely_extent(axes), likely_extent(stage.leaves[stage.leaves.index(loop) + 1 :])
        found: dict[Tensor, None] = {}
        for read in accesses.reads:
            size = math.prod([likely(extent) for extent in read.tensor.shape])
            lies = len(contiguous_groups(axes, replace(accesses, reads=(read,)))) == 1
            if size == elements and lies and size * read.tensor.dtype.itemsize > target.machine.l2_rows:
                found[read.tensor] = None
        for tensor in found:
            stage.prefetch(tensor, loop, -(-rows * elements // (total * step)))
