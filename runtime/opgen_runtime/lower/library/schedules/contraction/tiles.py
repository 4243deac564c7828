"""Tiles of contractions: so many rows and vectors of columns stay in registers."""

from __future__ import annotations

from collections.abc import Sequence

from .....base import Target
from .....base.arith import Var
from .....base.vocabulary import dataclass
from .....compute.te.tensor import IterVar
from ....schedule import Schedule, Stage, specialisation
from ...heuristics import MAX_LITTLE_PRODUCTS, MIN_ROWS, USUAL_PANEL_VECTORS
from ..common.access import likely, likely_extent, total_extent
from ..common.parameters import PANEL_VECTORS, TILE_ROWS
from ..common.products import Contraction


@dataclass(frozen=True, slots=True)
class MostRows:
    """How many rows a tile has at most, as one of several, and `alone`; fewer than `least` do not keep it busy."""

    tiled: int
    alone: int
    least: int


@dataclass(frozen=True, slots=True)
class Tile:
    """What stays in registers over all of k: so many rows of a panel of columns, of which a vector has `lanes`.

    It has `most` rows at most; `alone`: there are no others, of rows of a symbolic number, which guards stand around.
    `little`: larger tiles, and schedules for few rows, would take longer to compile than they ever save.
    """

    rows: int
    panel: int
    lanes: int
    most: MostRows
    alone: bool
    little: bool


def tile_of(found: Contraction, summed: Sequence[IterVar], target: Target) -> Tile:
    """The tile of a contraction that sums over axes."""
    lanes = target.lanes(found.packed.dtype)
    vectors = -(-likely_extent(found.columns) // lanes)
    most = rows_of(target, vectors)
    little = _is_little(found, summed, most)
    if little:
        most = MostRows(4, 4, 3)
    rows = tile_rows(found.row, most)
    wide = PANEL_VECTORS.of(target, panel_vectors(vectors, target, rows))
    return Tile(rows, lanes * min(vectors, wide), lanes, most, most_rows(found.row, most) is not None, little)


def _is_little(found: Contraction, summed: Sequence[IterVar], most: MostRows) -> bool:
    """Whether rows of a symbolic number are likely few, and of little work each.

    Each form of a tile that is not full is code of its own.
    """
    rows = found.row.extent
    few = isinstance(rows, Var) and likely(rows) <= most.alone and most_rows(found.row, most) is None
    return few and likely_extent((*found.columns, *summed)) < MAX_LITTLE_PRODUCTS.value


def rows_of(target: Target, vectors: int) -> MostRows:
    """How many rows of so many vectors a tile has at most: where registers are few, all but those for operands.

    A sum of a product waits for the last one: a dozen accumulators hide that, half as many do not.  Where registers are
    many, sixteen to two dozen are accumulators.
    """
    tuned = TILE_ROWS.of(target, 0)
    if tuned:
        return MostRows(tuned, tuned * 3 // 2, tuned // 2 + 1)
    if has_many_registers(target):  # of two vectors each, or one
        return MostRows(8, 12, 5) if vectors > 1 else MostRows(14, 16, 10)
    wide, latency = _few_vectors(vectors), int(target.machine.cycles["latency"])
    fitting = min(8, (target.vectors.registers - wide - 1) // wide)
    return MostRows(fitting, fitting, min(fitting, latency // wide + 1))


def has_many_registers(target: Target) -> bool:
    """Whether a dozen rows of two vectors leave registers for operands."""
    return target.vectors.registers >= 32


def tile_rows(row: IterVar, most: MostRows) -> int:
    """How many rows a tile has: as many as fit, fewer where that leaves none over."""
    rows = row.extent
    if not isinstance(rows, int):
        return most_rows(row, most) or most.tiled
    if rows <= most.alone:
        return rows
    even = -(-rows // -(-rows // most.tiled))  # as many tiles as are needed, of about the same size
    return next((n for n in range(most.tiled, most.least - 1, -1) if rows % n == 0), even)


def most_rows(row: IterVar, most: MostRows) -> int | None:
    """How many rows there are at most, where they are of a symbolic number and one tile; None for others."""
    found = row.extent.most if isinstance(row.extent, Var) else None
    return found if found is not None and found <= most.alone else None


def panel_vectors(vectors: int, target: Target, rows: int) -> int:
    """How many vectors a panel has: two, three where that leaves none over and there are registers for all rows."""
    if not has_many_registers(target):
        return _few_vectors(vectors)
    usual = USUAL_PANEL_VECTORS.value
    fits = _fills(vectors, usual + 1) and (usual + 1) * (rows + 1) < target.vectors.registers
    return usual + 1 if fits else min(usual, vectors)


def _few_vectors(vectors: int) -> int:
    usual = USUAL_PANEL_VECTORS.value
    return usual + 1 if _fills(vectors, usual + 1) else min(usual, vectors)


def _fills(vectors: int, wide: int) -> bool:
    return vectors % USUAL_PANEL_VECTORS.value > 0 and vectors % wide == 0


def in_registers(stage: Stage, tile: IterVar, within: IterVar, lanes: int) -> None:
    stage.unroll(tile)
    if within.extent == lanes:
        stage.vectorize(within)
        return
    part, lane = stage.split(within, lanes)
    stage.unroll(part)
    stage.vectorize(lane)


def specialise_few_rows(schedule: Schedule, found: Contraction, tile: Tile, constant: bool) -> None:
    """Few of a symbolic number have schedules of their own: one row or column, which is no contraction, and few rows.

    These are one tile.  Little work has a schedule for one row where that is what is likely.  Beside packed constants,
    which are precomputed for all, they are the forms of a tile that is not full.  Columns of a symbolic number have so
    many rests of their own that guarded rows beside them would take longer to compile than they save.
    """
    rows, columns = found.row.extent, found.columns[-1].extent
    if constant:
        return
    if isinstance(rows, Var) and not tile.alone:
        if not tile.little or likely(rows) == 1:
            schedule.specialisations.append(specialisation(rows, 1, 1))
        if not tile.little and total_extent(found.columns) is not None:
            schedule.specialisations.append(specialisation(rows, MIN_ROWS.value, tile.most.alone))
    if isinstance(columns, Var) and len(found.columns) == 1:
        schedule.specialisations.append(specialisation(columns, 1, 1))
