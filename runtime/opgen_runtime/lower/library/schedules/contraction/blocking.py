"""Sums so long that the rows of a tile, which lie apart, leave the first-level cache before the next panel.

    for task: for block of k: pack a group of panels; for panel: for tile of rows: tile += rows * panel over the block

A task is a group of panels, of all rows or a block of them.  Its part of the result is in the second-level cache,
and a tile of it is in registers while it takes in a block of k.

    for image: for block of k: stage it; for panel: for tile of rows: tile += rows * panel over the block

So are sums over windows of many channels, of which few fit the second-level cache together: the copy with what is
around them is made for the windows of a block alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from .....base import Target
from .....base.vocabulary import dataclass
from .....compute.te.tensor import IterVar
from ....schedule import Stage
from ...heuristics import MAX_FEW_ROWS, MIN_BLOCK_STEPS, MIN_BLOCKED_COLUMNS
from ..common.access import analyse, is_shared, likely_extent, total_extent
from ..common.parameters import BLOCK_STEPS, GROUP_COLUMNS, TASKS
from ..common.products import Product, vars_of
from .nests import Nest, last_of, runs_of, share_rows
from .packing import pack_a_panel
from .row_strips import of_windows
from .tiles import in_registers
from .work_partition import blocks_of


@dataclass(frozen=True, slots=True)
class Blocks:
    """How a sum is split: the `axis` of k into blocks of so many of its `steps`, columns into groups of so many."""

    axis: IterVar
    steps: int
    columns: int


def blocks_of_sum(product: Product, panel: int, target: Target) -> Blocks | None:
    """How the sum of a contraction is split; None where that saves nothing."""
    flat, whole, columns = product.flat, product.whole, likely_extent(product.found.columns)
    every = (*flat.axes, *flat.reduce_axes)
    length = likely_extent(flat.reduce_axes)
    theirs = vars_of(whole.packed)
    rows = likely_extent([axis for axis in flat.axes if axis.var not in theirs])
    machine = target.machine
    least = machine.l1_row_of_few if rows <= MAX_FEW_ROWS.value else machine.l1_row
    if total_extent(every) is None or length * whole.packed.dtype.itemsize < least:
        return None
    tasks = TASKS.of(target) * target.num_threads if is_shared(every, likely_extent(every), target) else 1
    groups = max(-(-columns // GROUP_COLUMNS.of(target)), tasks)
    width = -(-columns // (groups * panel)) * panel
    if rows > machine.l2_result_rows or columns < MIN_BLOCKED_COLUMNS.value:
        return None
    axis = max(flat.reduce_axes, key=lambda each: likely_extent((each,)))
    extent, number = likely_extent((axis,)), round(length / BLOCK_STEPS.of(target))
    even = [n for n in range(number * 2 // 3, number * 3 // 2 + 1) if extent % n == 0]
    number = min(even, key=lambda n: abs(n - number), default=number)
    steps = -(-extent // number)
    return Blocks(axis, steps, width) if 1 < steps < extent else None


def block_by_block(nest: Nest, blocks: Blocks, target: Target) -> IterVar:
    """Loops over tasks, and over the blocks of k in each; gives the loop over tasks, in which a sum is computed."""
    leader, product, packing = nest.leader, nest.product, nest.packing
    assert packing is not None
    groups, within = leader.split(nest.columns, blocks.columns)
    tiles, tile = leader.split(nest.row, nest.tile.rows)
    vectors, lane = leader.split(within, nest.tile.lanes)
    leader.reorder(*nest.around, groups, *nest.still, tiles, tile, vectors, lane)
    leader.vectorize(lane)
    number = 1
    if nest.shared:
        last = last_of(likely_extent(product.found.columns), blocks.columns, nest.tile.lanes)
        every, rows = likely_extent((*nest.around, groups)), likely_extent((product.whole.row,))
        number = blocks_of(every, last, tiles.extent, rows, target) or 1
    task, _ = share_rows(nest, groups, tiles, number)
    block = _multiply(nest, blocks)
    _pack(packing, target)
    packing.compute_at(product.flat, block)
    return task


def blocks_of_staged(nest: Nest, staging: Stage, target: Target) -> Blocks | None:
    """How a sum over windows is split, so that what a block of it covers fits the second-level cache; None where that

    saves nothing. All results of an image fit it, too.
    """
    flat = nest.product.flat
    axes = (*flat.axes, *flat.reduce_axes)
    if nest.shared or not nest.constant or total_extent((*axes, *staging.axes)) is None:
        return None
    size, results = (likely_extent(each.axes) * each.tensor.dtype.itemsize for each in (staging, flat))
    images, machine = likely_extent(_images(nest, staging)), target.machine
    if size <= machine.l2_evicted * images or results > machine.l2_block * images:
        return None
    axis = max(flat.reduce_axes, key=lambda each: likely_extent((each,)))
    extent, length = likely_extent((axis,)), likely_extent(flat.reduce_axes)
    most = min(machine.l2_block * extent * images // size, extent)
    if most * (length // extent) < MIN_BLOCK_STEPS.value:
        return None
    even = [n for n in range(most // 2 + 1, most + 1) if extent % n == 0]
    return Blocks(axis, max(even, default=most), 0)


def stage_by_block(nest: Nest, staging: Stage, blocks: Blocks) -> None:
    """for image: for block of k: stage it; for panel: for tile of rows: tile += rows * panel over the block"""
    leader, flat = nest.leader, nest.product.flat
    images = _images(nest, staging)
    inside = [loop for loop in (*nest.around, *nest.still) if loop not in images]
    panels, within = leader.split(nest.columns, nest.tile.lanes)
    leader.reorder(*images, *inside, nest.row, panels, within)
    leader.vectorize(within)
    if images:
        flat.compute_at(leader, images[-1])
    staging.compute_at(flat, _multiply(nest, blocks))


def _images(nest: Nest, staging: Stage) -> list[IterVar]:
    """The leader's loops along which no windows slide."""
    flat, theirs = nest.product.flat, vars_of(nest.product.whole.packed)
    sliding = [flat.axes[n] for n in of_windows(flat, staging)]
    rest = [axis for axis in flat.axes[:-1] if axis is not nest.product.whole.row and axis.var not in theirs]
    still = [loop for axis, loop in zip(rest, nest.still, strict=True) if axis not in sliding]
    return [*nest.around, *still]


def _pack(packing: Stage, target: Target) -> None:
    """Loops for a group of panels, which are inside of those over k: a line of all of them is read as one.

    Columns that are contiguous along k are transposed panel by panel.
    """
    pack_a_panel(packing, target)
    assert packing.body is not None
    column = packing.axes[-1].var
    if any([read.strides.get(column, 1) > 1 for read in analyse(packing.body, packing.tensor.dtype).reads]):
        return
    panels, *steps = packing.axes[:-1]
    within = [axis for axis in packing.leaves if axis not in packing.axes]
    packing.reorder(*[axis for axis in packing.leaves if axis in steps], panels, *within)


def _multiply(nest: Nest, blocks: Blocks) -> IterVar:
    """for i: for j: for k  -->  for k_o: for j_o: for i_o: for k_i: unrolled for i_i, vectors of j_i; the first one"""
    flat, row = nest.product.flat, nest.product.whole.row
    outer = [axis for axis in flat.axes[:-1] if axis is not row]
    block, summed = _fuse_steps(flat, nest.product.steps, blocks)
    tiles, tile = flat.split(row, nest.tile.rows)
    panels, within = flat.split(flat.axes[-1], nest.tile.panel)
    flat.reorder(block, panels, *outer, tiles, *summed, tile, within)
    if len(summed) > 1 and summed[-1].extent == 2:
        flat.unroll(summed[-1])  # each of two would wait for the end of its loop
    in_registers(flat, tile, within, nest.tile.lanes)
    return block


def _fuse_steps(flat: Stage, order: Sequence[IterVar], blocks: Blocks) -> tuple[IterVar, list[IterVar]]:
    """The loop over blocks, and those over the steps of one: operands walk through several as one."""
    assert flat.body is not None
    accesses = analyse(flat.body, flat.tensor.dtype)
    block, step = flat.split(blocks.axis, blocks.steps)
    runs: list[list[IterVar]] = []
    for run in runs_of(order, accesses):
        at = run.index(blocks.axis) if blocks.axis in run else 0
        runs += [part for part in (run[:at], run[at:]) if part]
    inner = [[step if axis is blocks.axis else axis for axis in run] for run in runs]
    flat.reorder(block, *[axis for run in inner for axis in run])
    return block, [flat.fuse(*run) for run in inner]
