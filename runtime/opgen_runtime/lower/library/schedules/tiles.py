"""Tiles of contractions: so many rows and vectors of columns stay in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....base import Target
from ....base.arith import Var
from ....base.vocabulary import dataclass
from ....compute.te.tensor import IterVar
from ...schedule import Schedule, Stage, narrowing
from .access import likely, likely_extent, total_extent
from .parameters import PANEL_VECTORS, TILE_ROWS
from .products import LEAST_ROWS, Contraction

VECTORS: Final = 2  # a panel has so many
_WAITING: Final = 8  # products that are under way at once
MANY_REGISTERS: Final = 32  # vector registers


@dataclass(frozen=True, slots=True)
class MostRows:
    """How many rows a tile has at most, as one of several, and `alone`; fewer than `least` do not keep it busy."""

    tiled: int
    alone: int
    least: int


MANY_ROWS: Final = MostRows(8, 12, 5)  # of two vectors each, where there are so many registers
MANY_SHORT_ROWS: Final = MostRows(14, 16, 10)  # of one vector
LITTLE_ROWS: Final = MostRows(4, 4, 3)  # of a symbolic number that is likely small, and of little work each
_LITTLE: Final = 1 << 16  # products of a row


@dataclass(frozen=True, slots=True)
class Tile:
    """What stays in registers over all of k: so many rows of a panel of columns, of which a vector has `lanes`.

    It has `most` rows at most; `alone`: there are no others, of rows of a symbolic number, which guards stand around.
    """

    rows: int
    panel: int
    lanes: int
    most: MostRows
    alone: bool


def tile_of(found: Contraction, summed: Sequence[IterVar], target: Target) -> Tile:
    """The tile of a contraction that sums over axes."""
    lanes = target.lanes(found.packed.dtype)
    vectors = -(-likely_extent(found.columns) // lanes)
    most = rows_of(target, vectors)
    if _is_little(found, summed, most):
        most = LITTLE_ROWS
    rows = tile_rows(found.row, most)
    wide = PANEL_VECTORS.of(target, panel_vectors(vectors, target.vectors.registers, rows))
    return Tile(rows, lanes * min(vectors, wide), lanes, most, most_rows(found.row, most) is not None)


def _is_little(found: Contraction, summed: Sequence[IterVar], most: MostRows) -> bool:
    """Whether large tiles, and schedules for few rows, would take longer to compile than they ever save.

    Each form of a tile that is not full is code of its own, and so few rows of so little work are soon computed.
    """
    rows = found.row.extent
    few = isinstance(rows, Var) and likely(rows) <= most.alone and most_rows(found.row, most) is None
    return few and likely_extent((*found.columns, *summed)) < _LITTLE


def rows_of(target: Target, vectors: int) -> MostRows:
    """How many rows of so many vectors a tile has at most: where registers are few, all but those for operands.

    A sum of a product waits for the last one: a dozen accumulators hide that, half as many do not.
    """
    tuned = TILE_ROWS.of(target, 0)
    if tuned:
        return MostRows(tuned, tuned * 3 // 2, tuned // 2 + 1)
    registers = target.vectors.registers
    if registers >= MANY_REGISTERS:
        return MANY_ROWS if vectors > 1 else MANY_SHORT_ROWS
    wide = _few_vectors(vectors)
    fitting = min(MANY_ROWS.tiled, (registers - wide - 1) // wide)
    return MostRows(fitting, fitting, min(fitting, _WAITING // wide + 1))


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


def panel_vectors(vectors: int, registers: int, rows: int) -> int:
    """How many vectors a panel has: two, three where that leaves none over and there are registers for all rows."""
    if registers < MANY_REGISTERS:
        return _few_vectors(vectors)
    wide = VECTORS + 1
    return wide if _fills(vectors, wide) and wide * (rows + 1) < registers else min(VECTORS, vectors)


def _few_vectors(vectors: int) -> int:
    wide = VECTORS + 1
    return wide if _fills(vectors, wide) else min(VECTORS, vectors)


def _fills(vectors: int, wide: int) -> bool:
    return vectors % VECTORS > 0 and vectors % wide == 0


def in_registers(stage: Stage, tile: IterVar, within: IterVar, lanes: int) -> None:
    stage.unroll(tile)
    if within.extent == lanes:
        stage.vectorize(within)
        return
    part, lane = stage.split(within, lanes)
    stage.unroll(part)
    stage.vectorize(lane)


def narrow(schedule: Schedule, found: Contraction, tile: Tile, constant: bool) -> None:
    """Few of a symbolic number have schedules of their own: one row or column, which is no contraction, and few rows.

    These are one tile.  Packed constants are prepared for all: one row or column is computed with them, too.  Columns
    of a symbolic number have so many rests of their own that guarded rows beside them would take longer to compile
    than they save.
    """
    rows, columns = found.row.extent, found.columns[-1].extent
    if isinstance(rows, Var) and not tile.alone and tile.most is not LITTLE_ROWS:
        if not constant:
            schedule.narrowings.append(narrowing(rows, 1, 1))
        if total_extent(found.columns) is not None:
            schedule.narrowings.append(narrowing(rows, 1 if constant else LEAST_ROWS, tile.most.alone))
    if isinstance(columns, Var) and len(found.columns) == 1 and not constant:
        schedule.narrowings.append(narrowing(columns, 1, 1))
