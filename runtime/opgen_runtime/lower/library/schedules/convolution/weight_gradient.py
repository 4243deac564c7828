"""Weight gradients of convolutions: loops of sums of products over planes, one of which slides along the other.

    W[o, c, r, s] = sum(G[n, o, y, x] * X[n, c, y * a + r, x * b + s] for n, y, x)

Both operands lie along x, so that vectors of x are summed as they lie: a contraction would pack each window, element by
element.  A plane of X is read once, with the padding around it; a vector of G serves all steps of the window, and one
of X several rows o, in accumulators that stay in registers.
"""

from __future__ import annotations

from .....base import Target
from .....base.arith import Binary, Expr, post_order
from .....base.vocabulary import dataclass
from .....compute.te.tensor import IterVar, Read, Reduce
from ....schedule import Schedule, Stage, positions, simplified, slope
from ...heuristics import MAX_WEIGHT_GRADIENT_ROWS, MIN_COLUMNS
from ..common.access import analyse, is_shared, likely_extent
from ..common.products import divided_as_read, factors_of, is_plain, is_sum_of_products, vars_of
from ..common.rule import WhyNot
from ..elementwise import staged_operand_of


@dataclass(frozen=True, slots=True)
class WeightGradient:
    """`image` slides over `windows`; `rows` move the other operand alone, `outer` are all other data axes."""

    image: Expr
    outer: tuple[IterVar, ...]
    rows: tuple[IterVar, ...]
    windows: tuple[IterVar, ...]


def match_correlation(schedule: Schedule, stage: Stage, target: Target) -> Stage | WhyNot:
    """A sum over planes of which few rows share a window, divided by what its operands divide its axes by."""
    if stage.follows is not None or not stage.axes or not is_sum_of_products(stage.body):
        return WhyNot("is no sum of products")
    _, made = divided_as_read(stage)
    assert isinstance(made.body, Reduce)
    found = _weight_gradient_of(made.axes, simplified(made.axes, made.body), target)
    if found is None:
        return WhyNot("has no two operands along its last reduce axis, one of which slides along the other")
    every = (*made.axes, *made.reduce_axes)
    if is_shared(every, likely_extent(every), target) and likely_extent(found.outer) < target.num_threads:
        return WhyNot(f"has too few planes for {target.num_threads} threads")
    place = "" if is_plain(found.image) else positions(every, found.image)
    return (
        WhyNot(f"has an image that cannot be covered: {place}") if isinstance(place, str) and place else stage
    )


def _weight_gradient_of(axes: tuple[IterVar, ...], body: Reduce, target: Target) -> WeightGradient | None:
    """What a body correlates; None for any other."""
    product = body.value
    if not body.axes or body.condition is not None or not isinstance(product, Binary):
        return None
    line = body.axes[-1]
    if (
        not isinstance(line.extent, int)
        or line.extent < MIN_COLUMNS.value
        or not all([isinstance(axis.extent, int) for axis in (*axes, *body.axes)])
    ):
        return None
    for image, still in ((product.a, product.b), (product.b, product.a)):
        reads = [node for node in post_order(image) if isinstance(node, Read)]
        if len(reads) != 1 or not isinstance(still, Read) or not _lies_along(still, line, 1):
            continue
        if not _lies_along(reads[0], line, target.machine.max_stride):
            continue
        mine, theirs = vars_of(still), vars_of(image)
        summed = {axis.var for axis in body.axes}
        sliding = [index for index in reads[0].indices if not summed.isdisjoint(vars_of(index))]
        windows = tuple([axis for axis in axes if any([axis.var in vars_of(each) for each in sliding])])
        rows = tuple([axis for axis in axes if axis.var in mine and axis.var not in theirs])
        if (
            any([axis.var in mine for axis in windows])
            or likely_extent(rows) > MAX_WEIGHT_GRADIENT_ROWS.value
        ):
            continue
        moved = {axis.var for axis in rows}
        if any(
            [not (moved.isdisjoint(used) or summed.isdisjoint(used)) for used in map(vars_of, still.indices)]
        ):
            continue  # the rows are windows: a convolution again
        steps = [axis for axis in windows if axis.var in vars_of(reads[0].indices[-1])]
        if likely_extent(steps) >= line.extent or (not windows and len(body.axes) == 1):
            continue  # a convolution itself, whose lines are those of the filter; or a product of matrices
        outer = tuple([axis for axis in axes if axis not in windows and axis not in rows])
        return WeightGradient(image, outer, rows, windows)
    return None


def _lies_along(read: Read, line: IterVar, most: int) -> bool:
    """Whether the last axis of what is read, and no other one, moves along the line, by so many elements at most."""
    if not read.indices:
        return False
    *others, last = read.indices
    step = slope(last, line.var)
    return step is not None and 0 < step <= most and not any([line.var in vars_of(each) for each in others])


def schedule_correlation(schedule: Schedule, stage: Stage, target: Target) -> list[Stage]:
    """Loops for a sum over planes, and for the plane that it reads; gives the stages that have loops then."""
    factors = factors_of(stage)
    if factors:
        stage = schedule[schedule.divide(stage.tensor, factors)]
    schedule.simplify(stage.tensor)
    assert isinstance(stage.body, Reduce)
    found = _weight_gradient_of(stage.axes, stage.body, target)
    assert found is not None
    staging = staged_operand_of(schedule, stage, found.image, target)
    accesses = analyse(stage.body, stage.body.value.dtype)
    every = (*stage.axes, *stage.reduce_axes)
    shared = is_shared(every, likely_extent(every), target)
    *steps, line = stage.reduce_axes
    lanes = min(target.lanes(accesses.widest), 1 << (likely_extent([line]).bit_length() - 1))
    around: list[IterVar] = []
    tiles: list[IterVar] = []
    registers = target.vectors.registers
    room = registers - registers * 7 // 32  # beside operands, and what is read next
    for axis in (*reversed(found.windows), *found.rows, *reversed(found.outer)):
        size = _part(axis, room)
        room //= size
        if size == axis.extent and axis not in found.outer:
            tiles.append(axis)
            continue
        loop, tile = stage.split(axis, size) if size > 1 and axis not in found.outer else (axis, None)
        around.append(loop)
        if tile is not None:
            tiles.append(tile)
    planes = [axis for axis in found.outer if axis.extent != 1]
    rest = [loop for loop in around if loop not in planes]
    along, lane = (None, line) if line.extent == lanes else stage.split(line, lanes)
    tail = [] if along is None else [along]
    stage.reorder(*planes, *rest, *steps, *tail, *tiles, lane)
    for tile in tiles:
        stage.unroll(tile)
    stage.vectorize(lane)
    if staging is not None and planes:
        staging.compute_at(stage, planes[-1])
    if shared and planes:
        stage.parallel(planes[0])
    return [stage, *([] if staging is None else [staging])]


def _part(axis: IterVar, most: int) -> int:
    """How much of an axis a tile has: the most that divides it."""
    assert isinstance(axis.extent, int)
    return max([size for size in range(1, max(1, min(most, axis.extent)) + 1) if axis.extent % size == 0])
