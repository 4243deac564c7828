"""Parameters of schedules: what a target may be tuned to, with the values that are legal.

A schedule asks `ROWS.of(target)`, or `ROWS.of(target, default)` where the default follows from the machine and the
program: the value that the target was tuned to, else the default.  Any legal value gives a right schedule.
"""

from __future__ import annotations

from typing import Final

from .....base import Target
from .....base.errors import StrategyError, did_you_mean
from .....base.vocabulary import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A name, in the words of what it is about, its legal values, what it is where nothing decides, and what it says.

    A default of None follows from the program or the machine.
    """

    name: str
    values: tuple[int, ...]
    default: int | None
    doc: str

    def of(self, target: Target, default: int | None = None) -> int:
        """The value that a target was tuned to, else the default, or that which follows from the program."""
        found = self.default if default is None else default
        tuned = dict(target.tuned).get(self.name) if target.tuned else None
        value = found if tuned is None else tuned
        assert value is not None
        return value


PANEL_VECTORS: Final = Parameter(
    "contraction.panel_vectors", (1, 2, 3, 4), None, "vectors of columns in a panel"
)
TILE_ROWS: Final = Parameter(
    "contraction.tile_rows", (1, 2, 3, 4, 6, 8, 10, 12), None, "rows of a tile in registers"
)
PACKED_BYTES: Final = Parameter(
    "contraction.packed_bytes",
    (0, 1 << 16, 1 << 18, 1 << 19, 1 << 20),
    None,
    "bytes of a packed operand up to which all of it is packed before the first row",
)
BLOCK_STEPS: Final = Parameter(
    "contraction.block_steps", (128, 256, 512), 256, "steps of a block of a long sum"
)
GROUP_COLUMNS: Final = Parameter(
    "contraction.group_columns", (64, 128, 256), 128, "columns of a group that a block is packed of"
)
TASKS: Final = Parameter("contraction.tasks_per_thread", (1, 2, 4, 8), 4, "groups or strips for each thread")
WINDOW_ROWS: Final = Parameter("window.rows", (2, 4, 6, 8), 8, "rows of a tile of windows")
WINDOW_STEPS: Final = Parameter(
    "window.unrolled_steps", (1, 3, 5, 7), 7, "steps of a window that are unrolled"
)
POOL_STEPS: Final = Parameter("pool.unrolled_steps", (1, 2, 4, 8), 8, "steps of a pool that are unrolled")
CHUNKS: Final = Parameter(
    "elementwise.chunks_per_thread", (1, 2, 4, 8, 16, 32), 8, "chunks of a shared loop for each thread"
)
SHARED_ITERATIONS: Final = Parameter(
    "elementwise.shared_iterations", (4, 16, 64, 256), 64, "iterations of a shared loop for each thread"
)
TRANSPOSE_TILE_ROWS: Final = Parameter(
    "elementwise.transpose_tile_rows",
    (16, 32, 64, 128, 256),
    64,
    "rows of a tile where vectors are transposed",
)
VECTORS: Final = Parameter("elementwise.vectors", (1, 2, 4, 8), None, "vectors that an iteration handles")
PREFETCHED: Final = Parameter(
    "gather.prefetch_distance", (2, 4, 8, 16), 8, "iterations between what is gathered and what is asked for"
)
SUM_VECTORS: Final = Parameter("reduction.vectors", (1, 2, 4, 8), None, "vectors of accumulators along a row")
SUM_ROWS: Final = Parameter("reduction.rows", (1, 2, 4, 6, 8), 4, "rows of accumulators in registers")
SUM_STEPS: Final = Parameter(
    "reduction.unrolled_steps", (1, 2, 4, 8), 4, "steps that are added to a tile of accumulators at once"
)
SLIDING_VECTORS: Final = Parameter(
    "reduction.sliding_vectors",
    (2, 4, 8, 12),
    8,
    "vectors of accumulators in registers, along lines that overlap",
)
WIDE_TILE: Final = Parameter(
    "reduction.wide_tile",
    (128, 256, 512, 1024, 2048, 4096),
    None,
    "elements of a tile of accumulators in memory",
)
PARTS: Final = Parameter("reduction.parts_per_thread", (1, 2, 4, 8), 4, "partial results for each thread")
COLUMN_VECTORS: Final = Parameter(
    "rows.column_vectors", (1, 2, 4, 8), 4, "vectors of columns computed at once"
)
ROWS_AT_ONCE: Final = Parameter(
    "rows.at_once", (1, 2, 3, 4, 8), None, "rows that each stage computes before the next one"
)
ROW_PARTS: Final = Parameter("rows.parts_per_thread", (1, 2, 4, 8), 4, "parts of the rows for each thread")
SCAN_VECTORS: Final = Parameter(
    "scan.panel_vectors", (1, 2, 3, 4), 4, "vectors of columns in a panel of a step"
)
SCAN_PANELS: Final = Parameter("scan.panels_per_thread", (1, 2, 4, 8), 4, "panels of a step for each thread")
SCAN_POSITIONS: Final = Parameter(
    "scan.positions", (1, 2, 4, 8), 4, "positions of a step that are computed together"
)
SCAN_WORK: Final = Parameter(
    "scan.shared_work", (1, 2, 4, 8, 16), 4, "times the least shared work that a step must be"
)

PARAMETERS: Final = {each.name: each for each in list(globals().values()) if isinstance(each, Parameter)}


# What parameters are called in records of tuning that earlier versions wrote.
RENAMED: Final = {
    "contraction.near_bytes": "contraction.packed_bytes",
    "elementwise.crossed_rows": "elementwise.transpose_tile_rows",
}


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
