"""Loops of stages without reduce axes: linear where memory is, vectorized inside, shared among threads outside."""

from __future__ import annotations

from typing import Final

from ..schedule import Stage
from ..target import Target
from ..te.tensor import IterVar
from .access import Accesses, analyse, contiguous_groups, total_extent

_CHUNKS_PER_THREAD: Final = 8
_UNROLLED: Final = ((4, 4), (10, 2))  # up to this cost: so many vectors an iteration


def schedule_elementwise(stage: Stage, target: Target, attached: bool = False) -> None:
    """Loops for a stage whose body is folded already and holds no root reduction.

    An attached stage is not shared among threads: its surroundings are.
    """
    assert stage.body is not None
    if not stage.axes or total_extent(stage.axes) in (0, 1):
        return
    accesses = analyse(stage.body, stage.tensor.dtype)
    groups = contiguous_groups(stage.axes, accesses)
    loops = [stage.fuse(*group) for group in groups]
    loops = [axis for axis in loops if axis.extent != 1] or loops[-1:]
    inner = loops[-1]
    lanes, vectors = vector_shape(inner, accesses, target)
    rows = total_extent(loops[:-1])
    columns = inner.extent if isinstance(inner.extent, int) else None
    work = None if rows is None or columns is None else rows * columns * accesses.cost
    shared = not attached and target.num_threads > 1 and work is not None and work > target.parallel_threshold
    outer = loops[:-1]
    if shared and rows is not None and columns is not None and work is not None:
        chunk = _chunk(rows, columns, work, lanes * vectors, target)
        if chunk < columns:
            part, inner = stage.split(inner, chunk)
            outer = [*outer, part]
    vectorize_inner(stage, inner, lanes, vectors)
    if shared and outer:
        stage.parallel(stage.fuse(*outer))


def vector_shape(inner: IterVar, accesses: Accesses, target: Target) -> tuple[int, int]:
    """How many lanes a vector of the innermost loop has, and how many vectors an iteration handles."""
    lanes = target.lanes(accesses.widest)
    if isinstance(inner.extent, int):
        lanes = min(lanes, 1 << max(0, inner.extent.bit_length() - 1))
    if lanes < 2 or (any(inner.var in read.entangled for read in accesses.reads) and lanes < 4):
        return 1, 1
    vectors = next((n for cost, n in _UNROLLED if accesses.cost <= cost), 1)
    if isinstance(inner.extent, int):
        vectors = min(vectors, max(1, inner.extent // lanes))
    return lanes, vectors


def vectorize_inner(stage: Stage, inner: IterVar, lanes: int, vectors: int) -> None:
    """for i in range(n)  -->  for v: unrolled for u in range(vectors): vectorized for l in range(lanes)"""
    if lanes < 2:
        return
    if inner.extent == lanes:
        stage.vectorize(inner)
        return
    rest, lane = stage.split(inner, lanes)
    stage.vectorize(lane)
    if vectors > 1:
        _, step = stage.split(rest, vectors)
        stage.unroll(step)


def _chunk(rows: int, columns: int, work: int, step: int, target: Target) -> int:
    """How many columns one chunk of a parallel loop has: a multiple of `step`, so that only the last one is ragged."""
    wanted = min(
        _CHUNKS_PER_THREAD * target.num_threads, max(target.num_threads, work // target.parallel_threshold)
    )
    parts = -(-wanted // rows)
    if parts <= 1:
        return columns
    return max(step, columns // parts // step * step)
