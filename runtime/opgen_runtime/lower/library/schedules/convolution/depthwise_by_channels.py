"""Depthwise convolutions by channels: each channel has its own filter, and channels lie in vectors where planes
are small.

    C[.., c, y, x] = sum(X[.., c, y * a + r, x * b + s] * W[c, r, s] for r, s)
-->
    P[y, x, c] = X[.., c, y, x]; T[y, x, c] = sum(P[y * a + r, x * b + s, c] * W[r, s, c]); C[.., c, y, x] = T[y, x, c]

Of as many channels as a vector holds the image is transposed in squares, summed, and what is summed is transposed
back.  Lines of an image (`filters`) leave lanes empty where they are shorter than vectors, and with strides are
read in parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .....base import Target
from .....base.arith import Binary, Expr, Var, post_order
from .....base.vocabulary import dataclass
from .....compute.te.tensor import IterVar, Read, Reduce
from ....schedule import Schedule, Stage, positions, simplified, slope
from ...heuristics import MIN_CHANNEL_GAIN, MIN_CHANNEL_STEPS
from ..common.access import is_shared, likely_extent, total_extent
from ..common.parameters import WINDOW_ROWS, WINDOW_STEPS
from ..common.plan import leader_of
from ..common.products import is_constant, is_plain, is_sum_of_products, vars_of
from ..common.rule import WhyNot
from ..contraction.row_strips import schedule_row_strips
from ..elementwise import schedule_elementwise


@dataclass(frozen=True, slots=True)
class ChannelWindows:
    """Image and filters of windows, the axis that moves both, and the axes of the positions that are read."""

    image: Expr
    filters: Read
    axis: IterVar
    staged: tuple[IterVar, ...]

    @property
    def source(self) -> Read:
        return next(node for node in post_order(self.image) if isinstance(node, Read))


def match_channels(schedule: Schedule, stage: Stage, target: Target) -> Stage | WhyNot:
    """A sum over windows whose channels fill vectors better than its lines."""
    if stage.follows is not None or not stage.axes or not is_sum_of_products(stage.body):
        return WhyNot("is no sum of products")
    assert isinstance(stage.body, Reduce)
    found = _channel_windows_of(stage.axes, simplified(stage.axes, stage.body))
    if isinstance(found, WhyNot):
        return found
    if not is_constant(schedule, found.filters):
        return WhyNot("has filters that are not constant")
    why_not = _why_not_cheaper(stage, found, target)
    return stage if why_not is None else WhyNot(why_not)


def _channel_windows_of(axes: tuple[IterVar, ...], body: Reduce) -> ChannelWindows | WhyNot:
    """The channels over whose windows a body is a sum."""
    product, every = body.value, (*axes, *body.axes)
    if body.condition is not None or not isinstance(product, Binary) or total_extent(every) is None:
        return WhyNot("has a condition, words or open extents")
    for image, filters in ((product.a, product.b), (product.b, product.a)):
        reads = [node for node in post_order(image) if isinstance(node, Read)]
        if len(reads) != 1 or not isinstance(filters, Read):
            continue
        theirs = vars_of(filters)
        moved = [axis for axis in axes if axis.var in theirs]
        if len(moved) != 1 or {read.dtype for read in (*reads, filters)} != {body.dtype}:
            continue
        used = [vars_of(index) for index in reads[0].indices]
        if used.count({moved[0].var}) != 1 or not any([_is_window(each, axes, body.axes) for each in used]):
            continue
        found = positions(every, image)
        if not isinstance(found, str):
            return ChannelWindows(image, filters, moved[0], found[0])
    return WhyNot("has no filter of its own for each channel of an image")


def _is_window(used: set[Var], axes: Sequence[IterVar], steps: Sequence[IterVar]) -> bool:
    """Whether a position moves with the results and with the steps of their sums."""
    return any([axis.var in used for axis in axes]) and any([axis.var in used for axis in steps])


def _why_not_cheaper(stage: Stage, found: ChannelWindows, target: Target) -> str | None:
    """Why it takes no less time, all in all, to bring channels into vectors; None if it does."""
    at, steps = stage.axes.index(found.axis), likely_extent(stage.reduce_axes)
    dtype, machine = stage.tensor.dtype, target.machine
    lanes, after = target.lanes(dtype), stage.axes[at + 1 :]
    count, results = likely_extent((found.axis,)), likely_extent(after)
    if not after or count < lanes or steps < MIN_CHANNEL_STEPS.value:
        return f"has {count} channels, {results} results of each and {steps} steps: too few"
    staged = likely_extent(found.staged) // likely_extent(stage.axes[: at + 1])
    read = math.prod([n for n in found.source.tensor.shape if isinstance(n, int)]) // likely_extent(
        stage.axes[: at + 1]
    )
    kept = results + staged + (0 if is_plain(found.image) else read)
    size = kept * lanes * dtype.itemsize
    if size > machine.l2_transposed:
        return f"has planes of which {lanes} do not stay in the L2 cache ({size:,} bytes)"
    cycles, is_near = machine.cycles, size <= machine.l1_transposed
    transposed = results * steps + kept * cycles["transpose" if is_near else "transpose_l2"]
    whole = -(-count // lanes) * lanes / count  # of channels, what is computed
    in_lines = _cost_by_rows(stage, found, lanes, target) * lanes + staged * lanes * cycles["copy_element"]
    if transposed * whole * MIN_CHANNEL_GAIN.value <= in_lines:
        return None
    return f"takes {transposed * whole:,.0f} cycles by channels, {in_lines:,.0f} by lines"


def _cost_by_rows(stage: Stage, found: ChannelWindows, lanes: int, target: Target) -> float:
    """Cycles of the sums of one channel in vectors that are lines, or parts of them."""
    *rows, line = stage.axes[stage.axes.index(found.axis) + 1 :]
    steps, count, width = likely_extent(stage.reduce_axes), likely_extent(rows), likely_extent((line,))
    vectors = -(-width // min(lanes, 1 << (width - 1).bit_length()))
    moved = [slope(index, line.var) for index in found.source.indices if line.var in vars_of(index)]
    strided, cycles = 0.0, target.machine.cycles
    if moved != [1]:
        strided = cycles["strided"] * count * vectors * steps / min(WINDOW_ROWS.of(target), count)
    return cycles["plane"] + count * vectors * steps + strided


def schedule_depthwise_by_channels(schedule: Schedule, stage: Stage, target: Target) -> list[Stage]:
    """Loops for a sum over windows, with channels in vectors; gives the stages that have loops then."""
    leader = leader_of(schedule, stage)
    schedule.simplify(stage.tensor)
    at, lanes = stage.axes.index(_channel_windows(stage).axis), target.lanes(stage.tensor.dtype)
    transposed = schedule[schedule.permute(stage.tensor, _last(stage, at))]
    if stage is not leader:
        stage.compute_inline()
        schedule.normalize()
    filters = _pack_filters(schedule, transposed, lanes, target)
    images = _transpose_image(schedule, transposed)
    every = (*transposed.axes, *transposed.reduce_axes)
    shared = is_shared(every, likely_extent(every), target)
    loop = schedule_row_strips(leader, leader.axes[:at], leader.axes[at], lanes, target)
    if shared:
        leader.parallel(loop)
    for image in images:
        schedule_elementwise(image, target, attached=True)
    _sum(transposed, len(stage.axes) > at + 2, lanes, target)
    for made in (*images, transposed):
        made.compute_at(leader, loop)
    return [leader, stage, transposed, filters, *images]


def _channel_windows(stage: Stage) -> ChannelWindows:
    assert isinstance(stage.body, Reduce)
    found = _channel_windows_of(stage.axes, stage.body)
    assert isinstance(found, ChannelWindows)
    return found


def _last(stage: Stage, at: int) -> tuple[IterVar, ...]:
    """The axes of a stage, one of them after all others."""
    return (*stage.axes[:at], *stage.axes[at + 1 :], stage.axes[at])


def _pack_filters(schedule: Schedule, transposed: Stage, lanes: int, target: Target) -> Stage:
    """Steps of the filters of as many channels as a vector holds; of all where the last vector begins earlier."""
    channel = transposed.axes[-1]
    panel = lanes if likely_extent((channel,)) % lanes == 0 else None
    axes = (*transposed.reduce_axes, channel)
    packing = schedule[schedule.pack(transposed.tensor, _channel_windows(transposed).filters, axes, panel)]
    schedule_elementwise(packing, target)
    return packing


def _transpose_image(schedule: Schedule, transposed: Stage) -> list[Stage]:
    """The image as it lies, transposed, and what is around it where that is read, too."""
    found, made, reader = _channel_windows(transposed), list[Stage](), transposed
    source, at = found.source, _place(found)
    if not is_plain(found.image):
        around = schedule[schedule.stage_operand(transposed.tensor, found.image)]
        made.append(_transpose(schedule, around, _place(_channel_windows(transposed))))
        reader = made[0]
    near = schedule[schedule.cache_read(source.tensor, "local", [reader.tensor])]
    # a run of positions is read, also where the ends of lines are not
    flat = schedule[schedule.flatten(near.tensor, len(near.axes) - at - 1)]
    near.compute_inline()
    schedule.normalize()
    return [_transpose(schedule, flat, at), *made]


def _place(found: ChannelWindows) -> int:
    """Which axis of what is read the channels are."""
    return next(n for n, index in enumerate(found.source.indices) if index is found.axis.var)


def _transpose(schedule: Schedule, stage: Stage, at: int) -> Stage:
    made = schedule[schedule.permute(stage.tensor, _last(stage, at))]
    stage.compute_inline()
    schedule.normalize()
    return made


def _sum(transposed: Stage, is_plane: bool, lanes: int, target: Target) -> None:
    """for y: for x: for c: for k  -->  for y_o: for x_o: for k: unrolled for y_i, x_i: vectorized for c"""
    most = target.vectors.registers * 3 // 4
    *rest, line, channel = transposed.axes
    tiles, tile = transposed.split(line, _even(likely_extent((line,)), most))
    around, unrolled = [*rest, tiles], [tile]
    if is_plane and tiles.extent == 1:
        rows = likely_extent(rest[-1:])
        height = max([n for n in range(1, rows + 1) if rows % n == 0 and n * likely_extent((line,)) <= most])
        around[-2], row = transposed.split(rest[-1], height)
        unrolled = [row, tile]
    vectors, lane = transposed.split(channel, lanes)
    *steps, last = transposed.reduce_axes
    transposed.reorder(*around, vectors, *steps, last, *unrolled, lane)
    for each in unrolled:
        transposed.unroll(each)
    transposed.vectorize(lane)
    if likely_extent((last,)) <= WINDOW_STEPS.of(target):
        transposed.unroll(last)


def _even(extent: int, most: int) -> int:
    return -(-extent // -(-extent // most))
