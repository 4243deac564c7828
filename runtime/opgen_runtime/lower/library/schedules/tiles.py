"""Tiles of contractions: so many rows and vectors of columns stay in registers."""

from __future__ import annotations

from typing import Final

from ....base import Target
from ....base.arith import Var
from ....compute.te.tensor import IterVar
from ...schedule import Schedule, Stage, narrowing
from .access import total_extent
from .parameters import TILE_ROWS
from .products import LEAST_ROWS, Contraction

_VECTORS: Final = 2  # a panel has so many
MANY_REGISTERS: Final = 32  # vector registers
_MANY_ROWS: Final = 8  # of a tile where there are so many
_FEW_ROWS: Final = 4  # and where there are fewer


def rows_of(target: Target) -> int:
    """How many rows a tile has at most."""
    return TILE_ROWS.of(target, _MANY_ROWS if target.vectors.registers >= MANY_REGISTERS else _FEW_ROWS)


def tile_rows(row: IterVar, most: int) -> int:
    """How many rows a tile has: as many as fit, fewer where that leaves none over."""
    rows = row.extent
    if not isinstance(rows, int):
        return most_rows(row, most) or most
    if rows <= one_tile(most):
        return rows
    even = -(-rows // -(-rows // most))  # as many tiles as are needed, of about the same size
    return next((n for n in range(most, most // 2, -1) if rows % n == 0), even)


def one_tile(most: int) -> int:
    """How many rows are computed at once, if there are no others: half as many again as in one of several tiles."""
    return most * 3 // 2


def most_rows(row: IterVar, most: int) -> int | None:
    """How many rows there are at most, where they are of a symbolic number and one tile; None for others."""
    found = row.extent.most if isinstance(row.extent, Var) else None
    return found if found is not None and found <= one_tile(most) else None


def panel_vectors(vectors: int, registers: int, rows: int) -> int:
    """How many vectors a panel has: two, three where that leaves none over and there are registers for all rows."""
    wide = _VECTORS + 1
    fits = registers >= MANY_REGISTERS and wide * (rows + 1) < registers
    if fits and vectors % _VECTORS and vectors % wide == 0:
        return wide
    return min(_VECTORS, vectors)


def in_registers(stage: Stage, tile: IterVar, within: IterVar, lanes: int) -> None:
    stage.unroll(tile)
    if within.extent == lanes:
        stage.vectorize(within)
        return
    part, lane = stage.split(within, lanes)
    stage.unroll(part)
    stage.vectorize(lane)


def narrow_rows(schedule: Schedule, found: Contraction, count: Var, rows: int, constant: bool) -> None:
    """Few rows have schedules of their own: one row, which is no contraction, and up to `rows`, which are one tile.

    Packed constants are prepared for all: one row is computed with them, too.  Columns of a symbolic number have so
    many rests of their own that guarded rows beside them would take longer to compile than they save.
    """
    if not constant:
        schedule.narrowings.append(narrowing(count, 1, 1))
    if total_extent(found.columns) is not None:
        schedule.narrowings.append(narrowing(count, 1 if constant else LEAST_ROWS, rows))
