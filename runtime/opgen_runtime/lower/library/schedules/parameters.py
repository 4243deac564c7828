"""Parameters of schedules: what a target may be tuned to, with the values that are legal.

A schedule asks `ROWS.of(target, default)`: the value that the target was tuned to, else its own default, which may
follow from the target and the program.  Any legal value gives a right schedule.
"""

from __future__ import annotations

from typing import Final

from ....base import Target
from ....base.errors import StrategyError, did_you_mean
from ....base.vocabulary import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A name, in the words of what it is about, its legal values and what it decides."""

    name: str
    values: tuple[int, ...]
    doc: str

    def of(self, target: Target, default: int) -> int:
        """The value that a target was tuned to, else the default."""
        return dict(target.tuned).get(self.name, default) if target.tuned else default


PANEL_VECTORS: Final = Parameter("contraction.panel_vectors", (1, 2, 3, 4), "vectors of columns in a panel")
TILE_ROWS: Final = Parameter(
    "contraction.tile_rows", (1, 2, 3, 4, 6, 8, 10, 12), "rows of a tile in registers"
)
NEAR_BYTES: Final = Parameter(
    "contraction.near_bytes",
    (0, 1 << 16, 1 << 18, 1 << 19, 1 << 20),
    "bytes of a packed operand up to which all of it is packed before the first row",
)
CHUNKS: Final = Parameter(
    "elementwise.chunks_per_thread", (1, 2, 4, 8, 16, 32), "chunks of a shared loop for each thread"
)
CROSSED_ROWS: Final = Parameter(
    "elementwise.crossed_rows", (16, 32, 64, 128, 256), "rows of a tile where a read crosses the vectors"
)
VECTORS: Final = Parameter("elementwise.vectors", (1, 2, 4, 8), "vectors that an iteration handles")
SUM_VECTORS: Final = Parameter("reduction.vectors", (1, 2, 4, 8), "vectors of accumulators along a row")
SUM_ROWS: Final = Parameter("reduction.rows", (1, 2, 4, 6, 8), "rows of accumulators in registers")
WIDE_TILE: Final = Parameter(
    "reduction.wide_tile", (128, 256, 512, 1024, 2048, 4096), "elements of a tile of accumulators in memory"
)
PARTS: Final = Parameter("reduction.parts_per_thread", (1, 2, 4, 8), "partial results for each thread")
COLUMN_VECTORS: Final = Parameter("rows.column_vectors", (1, 2, 4, 8), "vectors of columns computed at once")
ROWS_AT_ONCE: Final = Parameter(
    "rows.at_once", (1, 2, 3, 4, 8), "rows that each stage computes before the next one"
)

PARAMETERS: Final = {
    each.name: each
    for each in (
        PANEL_VECTORS, TILE_ROWS, NEAR_BYTES, CHUNKS, CROSSED_ROWS, VECTORS, SUM_VECTORS, SUM_ROWS, WIDE_TILE, PARTS,
        COLUMN_VECTORS, ROWS_AT_ONCE,
    )
}  # fmt: skip


def why_not_tuned(name: str, value: object) -> str | None:
    """Why a parameter cannot have a value; None if it can."""
    found = PARAMETERS.get(name)
    if found is None:
        return f"there is no parameter {name!r}{did_you_mean(name, PARAMETERS)}"
    if isinstance(value, bool) or value not in found.values:
        return f"parameter {name} is {value!r:.40}; expected one of {', '.join(map(str, found.values))}"
    return None


def check_tuned(target: Target) -> None:
    """Raises StrategyError for a target that is tuned to what schedules do not have."""
    for name, value in target.tuned:
        problem = why_not_tuned(name, value)
        if problem is not None:
            raise StrategyError(f"target {target}: {problem}")
