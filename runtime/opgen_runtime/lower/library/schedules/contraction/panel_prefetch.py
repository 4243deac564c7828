"""Prefetches of the next panel of a contraction, one or few lines with each step of its sum."""

from __future__ import annotations

import math

from .....base import Target
from .....compute.te.tensor import IterVar
from ....schedule import Stage
from ...heuristics import MIN_REUSE
from ..common.access import analyse, leading_axis, likely, likely_extent
from ..common.products import Product, vars_of
from .tiles import Tile


def prefetch_panel(
    product: Product, packing: Stage | None, steps: IterVar, tile: Tile, target: Target
) -> None:
    """Where each step of k reads lines of its own, and all of them are much: each step prefetches the next panel's.

    `packing` is what a panel is copied to, if it is, and `steps` the innermost loop over k.  Windows that overlap
    are in the cache when they are read again.
    """
    flat, found, whole, panel = product.flat, product.found, product.whole, tile.panel
    reads, flattened = (analyse(each.packed, each.packed.dtype).reads for each in (found, whole))
    if len(reads) != 1 or len(flattened) != 1:
        return
    if packing is None and flattened[0].tensor is not reads[0].tensor:
        return  # a copy, of what covers the columns
    (read,), column = reads, found.columns[-1].var
    size = math.prod([likely(extent) for extent in read.tensor.shape])
    itemsize = read.tensor.dtype.itemsize
    theirs = vars_of(whole.packed)
    mine = [axis for axis in (*flat.axes, *flat.reduce_axes) if axis.var in theirs]
    apart = 0 if column in read.entangled else read.strides.get(column, 0)
    planes = flattened[0].strides.get(leading_axis(flat.reduce_axes).var, 0)
    step = target.machine.line // (itemsize * max(1, apart))
    if (
        size * itemsize <= target.machine.l2_streaming
        or likely_extent(mine) >= MIN_REUSE.value * size
        or step < 2
        or not 0 < apart * panel < planes  # one panel a line has no next one beside it
    ):
        return
    lines = max(1, panel // step)
    tiles = -(-likely(whole.row.extent) // tile.rows)
    each = next((n for n in range(1, lines + 1) if lines % n == 0 and n * tiles >= lines), 0)
    if not each:
        return
    tensor = read.tensor if packing is None else packing.tensor
    # the first line of a panel is in part the last one of the panel before it
    flat.prefetch_lines(tensor, steps, flat.axes[-1], whole.row, tile.rows, panel + step, step, lines, each)
