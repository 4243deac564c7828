"""The loops of a contraction's leader: which come first, what is packed in them, and how threads share them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from .....base import Target
from .....base.vocabulary import dataclass
from .....compute.te.tensor import IterVar
from ....schedule import Stage
from ..common.access import Accesses, contiguous_groups, likely, likely_extent
from ..common.products import Product
from .packing import bytes_of, pack_a_panel, pack_all
from .tiles import Tile, in_registers
from .work_partition import blocks_of


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops of a leader: `around` moves with the columns, `still` does not, nor does the `row`; `columns` are one axis.

    In them the `product` is computed, tile by tile.  What the columns read is copied by `packing`, if it is, once and
    for all if it is `constant`; threads share the loops if they are `shared`.
    """

    leader: Stage
    product: Product
    tile: Tile
    packing: Stage | None
    around: tuple[IterVar, ...]
    still: tuple[IterVar, ...]
    row: IterVar
    columns: IterVar
    constant: bool
    shared: bool


def tile_by_tile(nest: Nest, is_cached: bool, run: int, target: Target) -> IterVar:
    """Loops over tiles, each of which is summed over all of k; gives the loop in which a tile is computed.

    Columns that are packed before the first row and stay in the cache are `is_cached`.  Tiles of the same rows go
    along a `run` of panels, if they may.
    """
    leader, packing, found = nest.leader, nest.packing, nest.product.found
    panels, within = leader.split(nest.columns, nest.tile.panel)
    tiles, tile = leader.split(nest.row, nest.tile.rows)
    blocks = (
        None if is_cached else 1
    )  # of rows, each of which packs its panels; None where all is packed first
    if packing is None or nest.constant:
        blocks = None
    elif nest.shared and not (
        is_cached and bytes_of(nest.product.flat, nest.product.whole.fixed) > target.machine.l2_streaming
    ):
        number = likely_extent((*nest.around, panels))
        last = last_of(likely_extent(found.columns), nest.tile.panel, nest.tile.lanes)
        blocks = blocks_of(number, last, tiles.extent, likely(found.row.extent), target)
    run = run if blocks in (None, 1) and not is_cached else 1
    runs, *along = leader.split(panels, run) if run > 1 else (panels,)
    first = (*nest.still, tiles, panels)
    order = (*nest.around, *(first if is_cached and blocks is None else (runs, *nest.still, tiles, *along)))
    leader.reorder(*order, tile, within)
    in_registers(leader, tile, within, nest.tile.lanes)
    if packing is None or blocks is None:
        if packing is not None:
            pack_all(packing, target)
        at = order[-1]
        if nest.shared:
            at = leader.fuse(*order[: len(order) - len(along)])
            leader.parallel(at)
        return along[0] if along else at
    task, tiles = share_rows(nest, runs, tiles, blocks)
    pack_a_panel(packing, target)
    packing.compute_at(leader, task)
    return along[0] if along else tiles


def share_rows(nest: Nest, panels: IterVar, tiles: IterVar, blocks: int) -> tuple[IterVar, IterVar]:
    """The loop over tasks, a panel and one of so many blocks of rows each, which threads share, and that over tiles."""
    leader, cut = nest.leader, []
    if blocks > 1:
        assert isinstance(tiles.extent, int)
        block, tiles = leader.split(tiles, tiles.extent // blocks)
        leader.reorder(*nest.around, panels, block, *nest.still, tiles)
        cut = [block]
    task = leader.fuse(*nest.around, panels, *cut)
    if nest.shared:
        leader.parallel(task)
    return task, tiles


def last_of(columns: int, panel: int, lanes: int) -> float:
    """What part of a panel the last one has, in whole vectors."""
    rest = (columns - 1) % panel + 1
    return -(-rest // lanes) * lanes / panel


def runs_of(order: Sequence[IterVar], accesses: Accesses) -> list[list[IterVar]]:
    """The steps of a sum in runs that operands walk through as one; those that decide about conditions are alone."""
    runs: list[list[IterVar]] = []
    for decides, group in groupby(order, lambda axis: axis.var in accesses.used):
        axes = list(group)
        runs += [[axis] for axis in axes] if decides else contiguous_groups(axes, accesses)
    return runs
