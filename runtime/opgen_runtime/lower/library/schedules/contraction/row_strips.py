"""Row strips: the copy that windows read and the transposed result are computed in parts that fit the second-level
cache.

C[.., i, y, x] = T[.., y, x, i] is stored strip by strip of y: of each, what its windows read is staged, T computed,
and transposed while both are in the second-level cache.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .....base import Target
from .....base.arith import Analyzer, Expr, Var, post_order, substitute
from .....base.vocabulary import dataclass
from .....compute.te.tensor import IterVar, Read
from ....schedule import Schedule, Stage
from ...heuristics import MIN_STRIP_POSITIONS, STRIP_OVERHEAD_POSITIONS
from ..common.access import (
    Accesses,
    analyse,
    contiguous_groups,
    is_shared,
    leading_axis,
    likely,
    likely_extent,
    total_extent,
)
from ..common.alternatives import choosing_axes
from ..common.parameters import TASKS
from ..common.plan import readers_of
from ..common.products import vars_of
from ..elementwise import divided_axes, in_squares, interleaved, vectorize_inner


@dataclass(frozen=True, slots=True)
class RowStrips:
    """The stage that reads what was interchanged, with the loop over its strips, and what is made in these."""

    reader: Stage
    loop: IterVar
    made: tuple[Stage, ...]

    def attach(self) -> tuple[Stage, ...]:
        """Compute what is interchanged, and what it reads, in that loop; gives all these stages."""
        for stage in self.made:
            stage.compute_at(self.reader, self.loop)
        return (*self.made, self.reader)


def row_strips_of(
    schedule: Schedule, transposed: Stage, flat: Stage, staging: Stage, target: Target
) -> RowStrips | None:
    """Loops for the one reader of what was interchanged, over strips of it that fit the second-level cache; None
    where there are none.

    `flat` is what it is made of, whose windows read `staging`.  A strip is a part of the windows' first axis, and one
    position of those before it that the reader has, too.
    """
    size, every = _bytes(transposed) + _bytes(staging), (*flat.axes, *flat.reduce_axes)
    reader = _reader_of(schedule, transposed)
    if size <= target.machine.l2_evicted or reader is None or total_extent((*every, *staging.axes)) is None:
        return None
    assert reader.body is not None
    accesses = analyse(reader.body, reader.tensor.dtype)
    along = [_read_along(reader, transposed, n) for n in range(len(transposed.axes) - 1)]
    at = next((n for n in of_windows(flat, staging) if along[n] is not None), None)
    if at is None or choosing_axes(reader) or interleaved(reader, accesses, target):
        return None
    axis = along[at]
    assert axis is not None
    outer = [each for each in dict.fromkeys(along[:at]) if each is not None and each is not axis]
    assert isinstance(axis.extent, int)
    number = likely_extent((*outer, axis))
    most = min(axis.extent, target.machine.l2_streaming * number // size)
    shared = is_shared(every, likely_extent(every), target)
    if shared:
        most = min(most, number // (TASKS.of(target) * target.num_threads))
    behind, lanes = likely_extent(transposed.axes[at + 1 : -1]), target.lanes(accesses.widest)
    sizes = [n for n in range(MIN_STRIP_POSITIONS.value, most + 1) if n * behind >= lanes]
    if not sizes:
        return None  # parts of squares would be transposed one by one
    size = min(sizes, key=lambda n: (-(-axis.extent // n) * (n + STRIP_OVERHEAD_POSITIONS.value), -n))
    loop = schedule_row_strips(reader, outer, axis, size, target)
    if shared:
        reader.parallel(loop)
    return RowStrips(reader, loop, (staging, transposed))


def _bytes(stage: Stage) -> int:
    return likely_extent(stage.axes) * stage.tensor.dtype.itemsize


def _reader_of(schedule: Schedule, transposed: Stage) -> Stage | None:
    """The one stage that reads what was interchanged, element by element; None where there is no such."""
    readers = [each for each in readers_of(schedule).get(transposed, ()) if not each.inlined]
    if transposed.is_output or len(readers) != 1:
        return None
    (reader,) = readers
    plain = reader.body is not None and not reader.reduce_axes and reader.follows is None
    return reader if plain and not reader.is_scheduled else None


def of_windows(flat: Stage, staging: Stage) -> list[int]:
    """Where among the axes of a stage those stand that it reads at together with steps: along which windows slide."""
    assert flat.body is not None
    steps = {axis.var for axis in flat.reduce_axes}
    reads = [n for n in post_order(flat.body) if isinstance(n, Read) and n.tensor is staging.tensor]
    used = [vars_of(index) for read in reads for index in read.indices]
    sliding = [each for each in used if not steps.isdisjoint(each)]
    return [n for n, axis in enumerate(flat.axes[:-1]) if any([axis.var in each for each in sliding])]


def _read_along(reader: Stage, transposed: Stage, at: int) -> IterVar | None:
    """The axis of a stage along all of which it reads an axis of another, position by position; None if it is none."""
    assert reader.body is not None
    reads = [n for n in post_order(reader.body) if isinstance(n, Read) and n.tensor is transposed.tensor]
    along = {read.indices[at] for read in reads}
    found = [
        axis for axis in reader.axes if along == {axis.var} and axis.extent == transposed.axes[at].extent
    ]
    return found[0] if found else None


def schedule_row_strips(
    stage: Stage, outer: Sequence[IterVar], axis: IterVar, size: int, target: Target
) -> IterVar:
    """for i: for y: for x  -->  (outer n) for n: for y_o: loops over i, y_i and x as of a stage of its own

    `size` positions of the axis at once; the last strip may begin earlier, and so may squares in each.  Gives the loop
    over strips, in which other stages may be computed.
    """
    accesses, loops = _divided_loops(stage, {*outer, axis})
    groups = contiguous_groups([each for each in loops if each not in outer], accesses)
    leading = [leading_axis(group) for group in groups]
    strip, part = stage.split(axis, size, overlapping=True)
    groups = [[part if each is axis else each for each in group] for group in groups]
    stage.reorder(*outer, strip, *[each for group in groups for each in group])
    loop = stage.fuse(*outer, strip)
    loops = [stage.fuse(*group) for group in groups]
    loops, lanes, vectors, _ = in_squares(stage, loops, leading, accesses, target, overlapping=True)
    vectorize_inner(stage, loops[-1], lanes, vectors)
    return loop


def _divided_loops(stage: Stage, whole: Collection[IterVar]) -> tuple[Accesses, list[IterVar]]:
    """for c: out[c] = a[c // 8, c % 8]  -->  for q: for r; the loops and what is read over these, some left whole."""
    assert stage.body is not None
    accesses = analyse(stage.body, stage.tensor.dtype)
    analyzer, values, loops = Analyzer(), dict[Var, Expr](), list[IterVar]()
    factors = divided_axes(stage, accesses)
    for axis in stage.axes:
        factor, extent = factors.get(axis, 0), likely(axis.extent)
        if axis in whole or not factor or extent % factor:
            loops.append(axis)
            continue
        quotient, remainder = stage.split(axis, factor)
        analyzer.bind(quotient.var, 0, quotient.extent)
        analyzer.bind(remainder.var, 0, remainder.extent)
        values[axis.var] = quotient.var * factor + remainder.var
        loops += (quotient, remainder)
    if values:
        accesses = analyse(analyzer.simplify(substitute(stage.body, values)), stage.tensor.dtype)
    return accesses, loops
