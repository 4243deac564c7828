"""Which stages are contractions, and which of their axes move with which operand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .....base.arith import (
    DOT_PRODUCTS,
    Analyzer,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Var,
    post_order,
    structural_equal,
    sub,
)
from .....base.vocabulary import INDEX, dataclass
from .....compute.te.tensor import IterVar, Read, Reduce
from ....schedule import Schedule, Stage, constant_stages, divided, pushed, simplified, simplified_over
from ...heuristics import (
    ENOUGH_ADJACENT_ROWS,
    ENOUGH_ROWS,
    MAX_ADJACENT_ROW_STRIDE,
    MIN_COLUMNS,
    MIN_ROWS,
    MIN_SUMMED_STEPS,
)
from .access import analyse, contiguous_groups, leading_axis, likely, likely_extent, total_extent
from .rule import WhyNot


@dataclass(frozen=True, slots=True)
class Contraction:
    """The axes of a contraction, and its operands: `fixed` moves with the row, `packed` with the columns.

    Of several axes that move like the row, it is the last of those that are long enough, or the longest; the others are
    among the `outer` ones.
    """

    outer: tuple[IterVar, ...]
    row: IterVar
    columns: tuple[IterVar, ...]
    fixed: Expr
    packed: Expr


@dataclass(frozen=True, slots=True)
class Form:
    """What makes a stage a contraction: `factors` divide its axes, conditions are pushed into its operands.

    `axes` and `body` are what it is then.
    """

    contraction: Contraction
    factors: Mapping[IterVar, int]
    conditional: bool
    axes: tuple[IterVar, ...]
    body: Reduce


@dataclass(frozen=True, slots=True)
class Product:
    """A contraction as it is computed: `flat` has its columns as one axis.

    `found` is the contraction as its columns were, `whole` as `flat` has it; `steps` are the axes of k, those on which
    conditions depend first.
    """

    flat: Stage
    found: Contraction
    whole: Contraction
    steps: tuple[IterVar, ...]


def form_of(stage: Stage) -> Form | WhyNot:
    """How a stage is a contraction that is worth packing.  The stage stays as it is."""
    if not is_sum_of_products(stage.body) or not stage.reduce_axes or not isinstance(stage.body, Reduce):
        return WhyNot("is no sum of products")
    factors, made = divided_as_read(stage)
    body = made.body
    assert isinstance(body, Reduce)
    conditional = body.condition is not None
    body = simplified(made.axes, pushed(body) if conditional else body)
    found = contraction_of(made.axes, body)
    if found is None:
        return WhyNot("has no rows that move one factor alone and last axes that move the other alone")
    assert isinstance(body, Reduce)
    why_not = why_not_large_enough(found, body)
    return WhyNot(why_not) if why_not is not None else Form(found, factors, conditional, made.axes, body)


def divided_as_read(stage: Stage) -> tuple[dict[IterVar, int], Stage]:
    """What the operands of a stage divide its data axes by, and the stage of which these are divided."""
    factors = factors_of(stage)
    if not factors:
        return factors, stage
    tensor, _ = divided(stage, factors, first=False)
    return factors, Stage((tensor,), tensor.op)


def contiguous_elements(found: Contraction, apart: int = 1) -> int:
    """How many elements of the columns lie side by side in what is read, or at most so far `apart`."""
    accesses = analyse(found.packed, found.packed.dtype)
    line = contiguous_groups(found.columns, accesses)[-1]
    var = leading_axis(line).var
    near = all(
        1 <= read.strides.get(var, 0) <= apart and var not in read.entangled for read in accesses.reads
    )
    return likely_extent(line) if near else 1


def as_contraction(schedule: Schedule, stage: Stage, form: Form) -> Stage:
    """The stage that is the contraction: that of the divided tensor, or the stage itself."""
    made = stage
    if form.factors:
        made = schedule[schedule.divide(stage.tensor, form.factors)]
    if form.conditional:
        body = made.body
        assert isinstance(body, Reduce)
        found = contraction_of(made.axes, simplified(made.axes, pushed(body)))
        assert found is not None
        schedule.push_conditions(made.tensor, (found.row, *found.columns))
    schedule.simplify(made.tensor)
    return made


def is_sum_of_products(body: Expr | None) -> bool:
    return isinstance(body, Reduce) and body.combiner == "sum" and _factors(body.value) is not None


def _factors(value: Expr) -> tuple[Expr, Expr] | None:
    """The operands of a product, or of a sum of products of the numbers that words hold."""
    if isinstance(value, Binary) and value.op == "mul":
        return value.a, value.b
    if isinstance(value, Call) and value.name in DOT_PRODUCTS:
        return value.args[0], value.args[1]
    return None


def contraction_of(axes: tuple[IterVar, ...], body: Expr | None) -> Contraction | None:
    """The contraction that a body is as it stands; None for any other.

    Its condition, if any, moves neither with the row nor with the columns.
    """
    if not is_sum_of_products(body) or not isinstance(body, Reduce):
        return None
    decided = set() if body.condition is None else vars_of(body.condition)
    factors = _factors(body.value)
    assert factors is not None
    for fixed, packed in (factors, factors[::-1]):
        mine, theirs = vars_of(fixed), vars_of(packed)
        rest = list(axes)
        columns: list[IterVar] = []
        while rest and rest[-1].var not in mine and (rest[-1].var in theirs or rest[-1].extent == 1):
            columns.insert(0, rest.pop())
        rows = [axis for axis in rest if axis.var in mine and axis.var not in theirs]
        if rows and any(axis.var in theirs for axis in columns):
            row = _row_of(rows, fixed)
            outer = tuple(axis for axis in rest if axis is not row)
            if not decided.isdisjoint(axis.var for axis in (row, *columns)):
                return None
            return Contraction(outer, row, tuple(columns), fixed, packed)
    return None


def _row_of(rows: Sequence[IterVar], fixed: Expr) -> IterVar:
    """The last axis that is long enough, or the longest; where rows share lines of the cache, few are enough."""
    reads = analyse(fixed, fixed.dtype).reads if len(rows) > 1 else ()

    def length(axis: IterVar) -> int:
        extent, var = likely(axis.extent), axis.var
        near = all(
            [
                0 < read.strides.get(var, 0) <= MAX_ADJACENT_ROW_STRIDE.value and var not in read.entangled
                for read in reads
            ]
        )
        return (
            ENOUGH_ROWS.value
            if near and extent >= ENOUGH_ADJACENT_ROWS.value
            else min(extent, ENOUGH_ROWS.value)
        )

    return max(reversed(rows), key=length)


def vars_of(e: Expr) -> set[Var]:
    return {node for node in post_order(e) if isinstance(node, Var)}


def is_constant(schedule: Schedule, operand: Expr) -> bool:
    """Whether all that an expression reads is constant."""
    constant = constant_stages(schedule)
    reads = [node for node in post_order(operand) if isinstance(node, Read)]
    return bool(reads) and all(schedule[read.tensor] in constant for read in reads)


def is_plain(operand: Expr) -> bool:
    """Whether an operand is read as it lies, or cast on the way, or is a word of what lies side by side."""
    return isinstance(operand.a if isinstance(operand, Cast) else operand, Read) or _is_word(operand)


def _is_word(operand: Expr) -> bool:
    if not isinstance(operand, Binary) or operand.op != "or":
        return False
    order = [node for node in post_order(operand) if node.dtype is not INDEX]
    reads = [node for node in order if isinstance(node, Read)]
    joined = [node for node in order if isinstance(node, Binary) and node.op in ("or", "shl")]
    casts = [node for node in order if isinstance(node, Cast | Const)]
    if len(reads) + len(joined) + len(casts) < len(order) or not reads:
        return False
    first, analyzer = reads[0], Analyzer()
    apart = [analyzer.simplify(sub(read.indices[-1], first.indices[-1])) for read in reads if read.indices]
    return [each.value for each in apart if isinstance(each, Const)] == [*range(len(reads))] and all(
        read.tensor is first.tensor
        and all(structural_equal(a, b) for a, b in zip(read.indices[:-1], first.indices[:-1], strict=True))
        for read in reads
    )


def why_not_large_enough(found: Contraction, body: Reduce) -> str | None:
    """Why extents are too small for packing, those of symbolic dims for their hints; None if they are not."""
    rows, columns, summed = (likely_extent(axes) for axes in ((found.row,), found.columns, body.axes))
    if 0 in (summed, total_extent(found.outer)):
        return "has nothing to compute"
    if not isinstance(found.row.extent, int):
        rows = MIN_ROWS.value  # one row is a case of its own
    several = len(found.columns) > 1 and (contiguous_elements(found) == columns or rows >= ENOUGH_ROWS.value)
    if summed < MIN_SUMMED_STEPS.value and not several:
        return f"sums {summed} products of columns that are read as they lie"
    enough = rows >= MIN_ROWS.value and columns >= MIN_COLUMNS.value
    return None if enough else f"has {rows} rows and {columns} columns"


def factors_of(stage: Stage) -> dict[IterVar, int]:
    """The data axes of which operands use quotients and remainders by one number, with that number."""
    axes = {axis.var: axis for axis in stage.axes}
    assert isinstance(stage.body, Reduce)
    (value,) = simplified_over((*stage.axes, *stage.reduce_axes), stage.body.value)
    found: dict[IterVar, set[int]] = {}
    for node in post_order(value):
        if not isinstance(node, Binary) or node.op not in ("floordiv", "floormod"):
            continue
        if isinstance(node.a, Var) and node.a in axes and isinstance(node.b, Const):
            found.setdefault(axes[node.a], set()).add(int(node.b.value))
    return {
        axis: factor
        for axis, numbers in found.items()
        if len(numbers) == 1
        for factor in numbers
        if isinstance(axis.extent, int) and 1 < factor < axis.extent and axis.extent % factor == 0
    }
