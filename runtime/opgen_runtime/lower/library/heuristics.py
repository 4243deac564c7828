"""Heuristics: numbers by which fusion and schedules choose what kind of loops there are.

Each is a name, a value, and what it says, with its unit.  None is about one machine (those are entries of
`base.target.Machine`), and none is a shape of loops (those are parameters, which tuning tries): they decide which
pattern a stage has and which of two estimates must be how much better.  A bad value costs time; any gives right
schedules.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from ...base.vocabulary import dataclass

N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class Heuristic(Generic[N]):
    """A name, in the words of what it is about, its value and what that counts."""

    name: str
    value: N
    doc: str


# ---------------------------------------------------------------- fusion

MAX_RESULTS: Final = Heuristic("fusion.max_results", 16, "results of sweeps that are joined")
MAX_DISTANCE_GROUPS: Final = Heuristic(
    "fusion.max_distance",
    256,
    "groups between two that may be joined, and reads that the search between them follows",
)
MAX_VIEW_READS: Final = Heuristic(
    "fusion.max_view_reads",
    4,
    "reads of an element, on average, up to which a contraction reads it where it lies out of order",
)

# ---------------------------------------------------------------- what is stored, what is inlined

MIN_CYCLES_TO_STORE: Final = Heuristic(
    "inline.min_cycles", 3.0, "cycles of an element that may be worth storing"
)
MIN_READS_TO_STORE: Final = Heuristic(
    "inline.min_reads", 4, "reads of an element that are worth storing what costs little"
)
MIN_STEPS_BESIDE: Final = Heuristic(
    "inline.min_steps_beside",
    8,
    "times the steps of a stage that a leader has for which it must not decide about loops",
)
MIN_REUSE: Final = Heuristic(
    "reuse.min", 2, "reads of an element, on average, that count as reading it again"
)
MIN_STEPS_A_STAGED_POSITION: Final = Heuristic(
    "staging.min_steps",
    4,
    "steps for each position that is read at non-affine indices, for fewer of which it is computed where it is read",
)

# ---------------------------------------------------------------- alternatives

MAX_ALTERNATIVES: Final = Heuristic("alternatives.max", 64, "alternatives that are unrolled")
MIN_TILE_READS: Final = Heuristic(
    "alternatives.min_tile_reads", 16, "elements that alternatives read: a tile of them"
)

# ---------------------------------------------------------------- elementwise loops

MAX_READS: Final = Heuristic(
    "elementwise.max_reads",
    32,
    "reads; more are alternatives, of which an element takes a few and a vector all",
)
MAX_INTERLEAVED_CYCLES: Final = Heuristic(
    "elementwise.max_interleaved_cycles",
    10.0,
    "cycles of an element, of more of which one vector at once keeps the processor busy",
)
MIN_TRANSPOSED_LANES: Final = Heuristic(
    "elementwise.min_transposed_lanes", 4, "lanes of a vector of a transposition"
)
MIN_NARROW_GAIN: Final = Heuristic(
    "elementwise.min_narrow_gain", 1.22, "times better that narrower squares must fit"
)
MAX_OVERLAP_WORK: Final = Heuristic(
    "elementwise.max_overlap_work", 1.1, "times what is computed where tiles overlap least"
)

# ---------------------------------------------------------------- contractions

MAX_LITTLE_PRODUCTS: Final = Heuristic(
    "contraction.max_little_products",
    1 << 16,
    "products of a row, of few rows, for which tiles stay small: code takes longer to compile than it saves",
)
MIN_ROWS: Final = Heuristic("contraction.min_rows", 2, "rows; one is a sum like others")
MIN_COLUMNS: Final = Heuristic("contraction.min_columns", 4, "columns, or elements of a line")
MIN_SUMMED_STEPS: Final = Heuristic(
    "contraction.min_steps",
    8,
    "steps, for fewer of which columns of several axes side by side are read as they lie",
)
ENOUGH_ROWS: Final = Heuristic("contraction.enough_rows", 7, "rows that fill a tile")
ENOUGH_ADJACENT_ROWS: Final = Heuristic(
    "contraction.enough_adjacent_rows", 4, "rows that do, where they share cache lines"
)
MAX_ADJACENT_ROW_STRIDE: Final = Heuristic(
    "contraction.max_adjacent_row_stride", 8, "elements between rows that share cache lines"
)
USUAL_PANEL_VECTORS: Final = Heuristic(
    "contraction.usual_panel_vectors",
    2,
    "vectors of columns in a panel, or one more where that leaves none over",
)
RESERVED_REGISTERS: Final = Heuristic(
    "contraction.reserved_registers",
    8,
    "registers without accumulators, for sums along lines of both operands",
)
MIN_SUM_VECTORS: Final = Heuristic(
    "contraction.min_sum_vectors", 8, "vectors of a sum along lines of both operands"
)
MIN_ROW_SUM_VECTORS: Final = Heuristic(
    "contraction.min_row_sum_vectors", 3, "vectors of such a sum where there are no more rows than these"
)
MIN_GUARDED_STEPS: Final = Heuristic(
    "contraction.min_guarded_steps", 12, "steps beside which a guard that is decided once takes little"
)
FEW_PACKED_STEPS: Final = Heuristic(
    "packing.few_steps", 16, "steps, around so few of which conditions take longer than their products"
)
MAX_EMPTY_STEPS: Final = Heuristic(
    "packing.max_empty_steps", 2, "steps of a vector of columns in which it is packed"
)
MIN_PANELS_AT_ONCE: Final = Heuristic(
    "packing.min_panels", 4, "panels at once, beside which each may as well ask for the lines of the next one"
)
MIN_PANELS_AN_EMPTY_ONE: Final = Heuristic(
    "packing.min_panels_an_empty_one", 16, "panels, one of which may be empty"
)
MAX_FEW_ROWS: Final = Heuristic("blocking.max_few_rows", 128, "rows for which shorter sums are cut, too")
MIN_BLOCKED_COLUMNS: Final = Heuristic(
    "blocking.min_columns", 256, "columns, for fewer of which rows are not read often"
)
MIN_BLOCK_STEPS: Final = Heuristic("blocking.min_steps", 32, "steps for which sums are read and stored again")
TASK_LOSS: Final = Heuristic("work_partition.task_loss", 0.1, "of a task that a thread waits for at the end")
MIN_STRIP_POSITIONS: Final = Heuristic(
    "row_strips.min_positions", 2, "positions of a strip, around which the next one copies again"
)
STRIP_OVERHEAD_POSITIONS: Final = Heuristic(
    "row_strips.overhead", 1, "positions that take as long as what is copied again"
)

# -------------------------------------------------- depthwise, weight gradients, col2im, operand interchange

MIN_CHANNEL_STEPS: Final = Heuristic(
    "depthwise.min_channel_steps", 4, "steps of a window whose channels are transposed"
)
MIN_CHANNEL_GAIN: Final = Heuristic("depthwise.min_channel_gain", 1.1, "times the time that must be saved")
MAX_WEIGHT_GRADIENT_ROWS: Final = Heuristic(
    "weight_gradient.max_rows", 24, "rows that share a window; more pay for packing it"
)
MAX_OPEN_ROWS: Final = Heuristic(
    "depthwise.max_open_rows", 4, "rows of a tile where the last has any number of them"
)
MIN_DOT_FILL: Final = Heuristic("dot_products.min_fill", 0.7, "of words of several numbers that are used")
MIN_SCATTER_GAIN: Final = Heuristic("col2im.min_gain", 1.1, "times the work that must be saved by scattering")
MIN_EQUAL_SCATTER_GAIN: Final = Heuristic(
    "col2im.min_equal_gain", 2.0, "where windows read no more than all products"
)
MAX_UNREAD_PRODUCTS: Final = Heuristic("col2im.max_unread_products", 1.25, "products for each that is read")
MIN_INTERCHANGE_FILL: Final = Heuristic(
    "interchange.min_fill", 1.15, "times the share of lanes that is used then"
)
MAX_INTERCHANGE_LOSS: Final = Heuristic(
    "interchange.max_loss", 1.3, "times less, where windows need no packing then"
)
MIN_PANEL_FILL: Final = Heuristic("interchange.min_panel_fill", 0.85, "of a panel that is used")
MIN_INTERCHANGE_GAIN: Final = Heuristic("interchange.min_gain", 1.015, "times the time that must be saved")
MIN_CONTIGUOUS_ELEMENTS: Final = Heuristic(
    "interchange.min_contiguous", 16, "elements side by side that are read in vectors"
)

# ---------------------------------------------------------------- reductions, and programs row by row

MAX_ADDER_CYCLES: Final = Heuristic(
    "reduction.max_adder_cycles", 8.0, "cycles of an element, for no more of which all adders are used"
)
MAX_REGISTER_STEPS: Final = Heuristic(
    "reduction.max_register_steps", 16, "steps that are unrolled, sums in registers"
)
MAX_REMAINDERS: Final = Heuristic("reduction.max_remainders", 4, "times that the code of a row is there")
REGISTERS_A_VECTOR: Final = Heuristic(
    "reduction.registers_a_vector",
    8,
    "registers for each vector of columns: accumulators, operands, sums between",
)
MAX_ROWS_AT_ONCE: Final = Heuristic(
    "rows.max_at_once", 4, "rows that each stage computes before the next one"
)
MAX_OPEN_ROWS_AT_ONCE: Final = Heuristic("rows.max_open_at_once", 2, "and where they may be of any length")

HEURISTICS: Final = {each.name: each for each in list(globals().values()) if isinstance(each, Heuristic)}
