"""Loops of stages without reduce axes: linear where memory is, vectorized inside, shared among threads outside."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....base import Target
from ....base.arith import Binary, Const, Expr, Var, post_order
from ....compute.te.tensor import IterVar, Read
from ...schedule import Schedule, Stage
from ...schedule.stages.domain import Extent
from ..heuristics import (
    MAX_INTERLEAVED_CYCLES,
    MAX_OVERLAP_WORK,
    MAX_READS,
    MIN_NARROW_GAIN,
    MIN_TRANSPOSED_LANES,
)
from .common.access import (
    Accesses,
    analyse,
    contiguous_groups,
    is_shared,
    leading_axis,
    likely,
    likely_extent,
    total_extent,
)
from .common.alternatives import choosing_axes, is_of_tiles, schedule_alternatives, vector_axis
from .common.parameters import CHUNKS, SHARED_ITERATIONS, TRANSPOSE_TILE_ROWS, VECTORS
from .common.prefetching import prefetch_gathered
from .common.products import is_plain
from .common.rule import WhyNot


def schedule_elementwise(stage: Stage, target: Target, attached: bool = False) -> None:
    """Loops for a stage whose body is folded already and holds no root reduction.

    An attached stage is not shared among threads: its surroundings are.
    """
    assert stage.body is not None
    if not stage.loop_axes or total_extent(stage.loop_axes) in (0, 1):
        return
    accesses = analyse(stage.body, stage.tensor.dtype)
    choosing = choosing_axes(stage)
    column = vector_axis(stage, choosing, target) if choosing else None
    if column is not None:
        lanes, _ = vector_shape(column, accesses, target)
        schedule_alternatives(stage, choosing, column, lanes, accesses, target, attached)
        return
    if len(accesses.reads) > MAX_READS.value:
        return  # lowering makes a loop for each of the alternatives
    factors = interleaved(stage, accesses, target)
    if factors:
        _interleave(stage, factors, accesses, target, attached)
        return
    groups = contiguous_groups(stage.loop_axes, accesses)
    leading = [leading_axis(group) for group in groups]
    loops = [stage.fuse(*group) for group in groups]
    overlapping = not attached and stage.follows is None
    loops, lanes, vectors, is_transposed = in_squares(stage, loops, leading, accesses, target, overlapping)
    inner = loops[-1]
    rows, columns = likely_extent(loops[:-1]), likely(inner.extent)
    work = rows * columns * accesses.cycles(target)
    shared = not attached and is_shared(loops, work, target)
    outer = loops[:-2] if is_transposed else loops[:-1]
    chunked = shared and not is_transposed
    overlapping = not attached and not is_transposed and not accesses.limited
    if overlapping and _is_better_overlapping(stage, inner, lanes, vectors, chunked, target):
        outer += _split_overlapping(stage, inner, lanes, chunked, (rows, work), target)
    else:
        if chunked:
            chunk = _chunk(rows, columns, work, lanes * vectors, target)
            if chunk < columns:
                part, inner = stage.split(inner, chunk)
                outer = [*outer, part]
        vectorize_inner(stage, inner, lanes, vectors)
    if not outer:
        return
    loop = _parallelise(stage, outer, target) if shared else outer[-1]
    if not attached and not is_transposed and len(outer) < len(groups):
        prefetch_gathered(stage, loop, leading[-1], target)


def match_tiles(schedule: Schedule, stage: Stage, target: Target) -> Stage | WhyNot:
    """A stage that computes tiles of tiles, as the transforms of Winograd's convolutions do."""
    return stage if is_of_tiles(stage) else WhyNot("does not choose among alternatives that read a tile")


def match_elementwise(schedule: Schedule, stage: Stage, target: Target) -> Stage | WhyNot:
    """Any stage with loops and without reduce axes."""
    if stage.body is None:
        return WhyNot("has no loops of its own")
    return WhyNot("has reduce axes") if stage.reduce_axes else stage


def schedule_whole(schedule: Schedule, stage: Stage, target: Target) -> tuple[Stage, ...]:
    """Loops for a stage without reduce axes that is computed whole."""
    schedule_elementwise(stage, target)
    return (stage,)


def staged_operand_of(schedule: Schedule, stage: Stage, operand: Expr, target: Target) -> Stage | None:
    """The stage that holds an operand once for each position, to be attached; None for one that is read as it lies."""
    if is_plain(operand):
        return None
    staging = schedule[schedule.stage_operand(stage.tensor, operand)]
    schedule_elementwise(staging, target, attached=True)
    return staging


def interleaved(stage: Stage, accesses: Accesses, target: Target) -> dict[IterVar, int]:
    """By which number each axis is split whose remainders by it lie far apart in what is read."""
    last = stage.loop_axes[-1]
    factors = divided_axes(stage, accesses)
    fits = 1 < factors.get(last, 0) <= target.machine.max_stride < likely(last.extent)
    return factors if fits else {}


def divided_axes(stage: Stage, accesses: Accesses) -> dict[IterVar, int]:
    """The axes that a stage uses divided by a number alone, of which the remainder tells what is read; the number."""
    assert stage.body is not None
    found: dict[Var, set[int]] = {}
    for node in post_order(stage.body):
        divided = _divided(node)
        if divided is not None:
            shifted = _shifted(divided[0])
            if shifted is not None:
                found.setdefault(shifted, set()).add(divided[1])
    used = {var for var in accesses.used if _is_beside(stage.body, var)}
    return {
        axis: min(found[axis.var])
        for axis in stage.loop_axes
        if axis.var not in used
        and len(found.get(axis.var, ())) == 1
        and 1 < min(found[axis.var]) < likely(axis.extent)
    }


def _divided(node: Expr) -> tuple[Expr, int] | None:
    """What a constant divides, and that, where remainders tell what is read, or quotients that no vector repeats."""
    if (
        not isinstance(node, Binary)
        or not isinstance(node.b, Const)
        or not isinstance(node.b.value, int)  # floats are no axes, and may be infinite
        or node.op not in ("floormod", "floordiv")
    ):
        return None
    return None if node.op == "floordiv" and node.b.value in (2, 4) else (node.a, node.b.value)


def _shifted(e: Expr) -> Var | None:
    """The variable that an expression is, beside a constant."""
    if isinstance(e, Binary) and e.op in ("add", "sub") and isinstance(e.b, Const):
        e = e.a
    return e if isinstance(e, Var) else None


def _is_beside(body: Expr, var: Var) -> bool:
    """Whether a variable occurs outside of positions that are read other than divided by a number."""
    stack, seen = [body], set[int]()
    while stack:
        node = stack.pop()
        if id(node) in seen or isinstance(node, Read):
            continue
        seen.add(id(node))
        divided = (
            isinstance(node, Binary) and node.op in ("floordiv", "floormod") and isinstance(node.b, Const)
        )
        if node is var:
            return True
        if not divided or _shifted(node.children()[0]) is not var:
            stack.extend(node.children())
    return False


def _interleave(
    stage: Stage, factors: dict[IterVar, int], accesses: Accesses, target: Target, attached: bool
) -> None:
    """for x: out[x] = a[x % 2, x // 2]  -->  for q: unrolled for r in range(2): out[q * 2 + r] = a[r, q]

    Vectors of q are read in one piece, and stored to every second place.
    """
    outer: list[IterVar] = []
    for axis in stage.loop_axes[:-1]:
        outer += stage.split(axis, factors[axis]) if axis in factors else (axis,)
    last = stage.loop_axes[-1]
    inner = vectorize_residues(stage, last, factors[last], accesses, target)
    stage.reorder(*outer, *inner)
    work = likely_extent(stage.loop_axes) * accesses.cycles(target)
    if outer and not attached and is_shared(stage.loop_axes, work, target):
        stage.parallel(stage.fuse(*outer))


def vectorize_residues(
    stage: Stage, axis: IterVar, factor: int, accesses: Accesses, target: Target
) -> tuple[IterVar, ...]:
    """for x  -->  for q_o: unrolled for r in range(factor): vectorized for q_i; these loops"""
    quotient, remainder = stage.split(axis, factor)
    stage.unroll(remainder)
    lanes = min(target.lanes(accesses.widest), 1 << (likely(quotient.extent).bit_length() - 1))
    vectors, lane = stage.split(quotient, lanes)
    stage.reorder(vectors, remainder, lane)
    if lanes > 1:
        stage.vectorize(lane)
    return vectors, remainder, lane


def _transposed_loop(
    leading: list[IterVar],
    extents: list[Extent],
    accesses: Accesses,
    lanes: int,
    overlapping: bool,
    target: Target,
) -> tuple[int | None, int]:
    """Which loop some read walks through memory with, while it jumps with the innermost one (a transposition).

    `leading` holds the leading axis of every loop, `extents` how often these run.  Gives the lanes of vectors, too:
    fewer where squares of so many fit the elements better, and little else is done with them.  `overlapping`: the last
    squares may begin earlier.
    """
    inner, is_cheap = leading[-1], accesses.cycles(target) <= target.machine.cycles["division"]
    narrower = lanes if is_cheap else 1
    widths = [lanes >> n for n in range(narrower.bit_length()) if lanes >> n >= MIN_TRANSPOSED_LANES.value]
    for read in accesses.reads:
        apart = abs(read.strides.get(inner.var, 0))
        if apart < MIN_TRANSPOSED_LANES.value or inner.var in read.entangled:
            continue
        for position, axis in enumerate(leading[:-1]):
            if read.strides.get(axis.var) != 1 or axis.var in read.entangled:
                continue
            best, most = 0, 0.0
            for width in widths:
                fit = math.prod([_fit(extents[n], width, overlapping) for n in (position, -1)])
                if width <= apart and fit > most * MIN_NARROW_GAIN.value:
                    best, most = width, fit
            if best:
                return position, best
    return None, lanes


def _fit(extent: Extent, width: int, overlapping: bool) -> float:
    """How well squares so wide fit: the share of the extent that is in whole ones, of what they compute if they
    overlap.
    """
    count = likely(extent)
    whole = count // width * width
    if overlapping and isinstance(extent, int) and whole:
        return count / (-(-count // width) * width)
    return whole / max(1, count)


def _height(rows: int, lanes: int, most: int) -> int:
    """How many rows a tile has, whole squares: as many as may be unless the last tile overlaps much."""
    fitting = [n for n in range(lanes, min(most, rows) + 1, lanes)] or [lanes]
    computed = {n: -(-rows // n) * n for n in fitting}
    return max(n for n in fitting if computed[n] <= min(computed.values()) * MAX_OVERLAP_WORK.value)


def in_squares(
    stage: Stage,
    loops: list[IterVar],
    leading: list[IterVar],
    accesses: Accesses,
    target: Target,
    overlapping: bool,
) -> tuple[list[IterVar], int, int, bool]:
    """The loops, those of a transposition cut in tiles; lanes and vectors of the innermost; whether there is one."""
    lanes, vectors = vector_shape(loops[-1], accesses, target)
    transposed_loop, width = _transposed_loop(
        leading, [loop.extent for loop in loops], accesses, lanes, overlapping, target
    )
    if transposed_loop is None:
        return loops, lanes, vectors, False
    height = TRANSPOSE_TILE_ROWS.of(target)
    return _tile(stage, loops, transposed_loop, width, height, overlapping), width, 1, True


def _tile(
    stage: Stage, loops: list[IterVar], transposed_loop: int, lanes: int, height: int, overlapping: bool
) -> list[IterVar]:
    """for i: for j: out[i, j] = a[j, i]  -->  for i_o: for j_o: for i_i in range(height): for j_i in range(lanes)

    The cache lines that a tile of a needs stay in the first-level cache until all their elements are used.
    `overlapping`: the last tiles overlap those before, so that all squares are whole.  Returns the loops.
    """
    rows, columns = loops[transposed_loop], loops[-1]
    if isinstance(rows.extent, int):
        height = _height(rows.extent, lanes, height)  # whole squares, which are transposed in registers
    row_tile, row = stage.split(rows, height, overlapping=overlapping)
    column_tile, column = stage.split(columns, lanes, overlapping=overlapping)
    outer = [*loops[:transposed_loop], row_tile, *loops[transposed_loop + 1 : -1], column_tile]
    stage.reorder(*outer, row, column)
    return [*outer, row, column]


def vector_shape(inner: IterVar, accesses: Accesses, target: Target) -> tuple[int, int]:
    """How many lanes a vector of the innermost loop has, and how many vectors an iteration handles."""
    lanes = target.lanes(accesses.widest)
    lanes = min(lanes, 1 << max(0, likely(inner.extent).bit_length() - 1))
    gathered = [read.tensor.dtype for read in accesses.reads if inner.var in read.entangled]
    few, narrow = lanes < 4, any(dtype.bits < target.machine.gather_bits for dtype in gathered)
    if lanes < 2 or (gathered and (few or narrow)):
        return 1, 1
    vectors = VECTORS.of(target, _unrolled(accesses, target))
    return lanes, min(vectors, max(1, likely(inner.extent) // lanes))


def _unrolled(accesses: Accesses, target: Target) -> int:
    """How many vectors an iteration handles: one hides the latency of what expensive elements take."""
    cycles = accesses.cycles(target)
    if cycles <= target.machine.cycles["division"]:
        return 4
    return 2 if cycles <= MAX_INTERLEAVED_CYCLES.value else 1


def vectorize_inner(stage: Stage, inner: IterVar, lanes: int, vectors: int) -> IterVar | None:
    """for i in range(n)  -->  for v: unrolled for u in range(vectors): vectorized for l in range(lanes)

    Gives the loop v; None where there is none.
    """
    if lanes < 2:
        return None
    if inner.extent == lanes:
        stage.vectorize(inner)
        return None
    rest, lane = stage.split(inner, lanes)
    stage.vectorize(lane)
    if vectors > 1:
        rest, step = stage.split(rest, vectors)
        stage.unroll(step)
    return rest


def _is_better_overlapping(
    stage: Stage, inner: IterVar, lanes: int, vectors: int, chunked: bool, target: Target
) -> bool:
    """Whether the last vector of a line, and the last chunk, are better whole ones that begin earlier than parts.

    The body is there once then; that of few operations is cheap to have twice.  A large tensor is written by
    non-temporal stores, in whole lines of them; a member of a scan may write where it reads.
    """
    whole, size = inner.extent, total_extent(stage.loop_axes)
    if not isinstance(whole, int) or size is None or stage.follows is not None:
        return False
    ragged = whole % lanes != 0
    most = target.machine.llc_tensor_elements
    return vectors == 1 < lanes < whole and (size <= most if ragged else chunked)


def _split_overlapping(
    stage: Stage, inner: IterVar, lanes: int, chunked: bool, load: tuple[int, float], target: Target
) -> list[IterVar]:
    """for i in range(63)  -->  for v in range(4): vectorized for l in range(16): i = min(v * 16, 63 - 16) + l

    Gives the loop over chunks of vectors, where there is one; `load` has the rows and the work of all.
    """
    vector, lane = stage.split(inner, lanes, overlapping=True)
    stage.vectorize(lane)
    count = likely(vector.extent)
    if not chunked:
        return []
    parts = _parts(*load, target)
    if parts <= 1 or not count:
        return []
    part, _ = stage.split(vector, -(-count // min(parts, count)), overlapping=True)
    return [part]


def _parallelise(stage: Stage, outer: Sequence[IterVar], target: Target) -> IterVar:
    """for b: for s: for h  -->  parallel for b_s: for h; gives the innermost loop

    No more loops are fused than give threads enough iterations to share: each finds its place by divisions.
    """
    enough = SHARED_ITERATIONS.of(target) * target.num_threads
    count = next((n for n in range(1, len(outer)) if likely_extent(outer[:n]) >= enough), len(outer))
    loop = stage.fuse(*outer[:count])
    stage.parallel(loop)
    return outer[-1] if count < len(outer) else loop


def _chunk(rows: int, columns: int, work: float, step: int, target: Target) -> int:
    """How many columns one chunk of a parallel loop has: a multiple of `step`, so that only the last one is ragged."""
    parts = _parts(rows, work, target)
    if parts <= 1:
        return columns
    return max(step, columns // parts // step * step)


def _parts(rows: int, work: float, target: Target) -> int:
    """How many chunks each row is worth; open extents may be scheduled for none."""
    most = CHUNKS.of(target) * target.num_threads
    wanted = min(most, max(target.num_threads, int(work // target.parallel_threshold)))
    return -(-wanted // max(rows, 1))
