"""The most bytes that a task has: what it takes, what it puts together, what it computes on the way, what it gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from ...base import Target
from ...compute.te import Extern, Tensor
from ...compute.te.graph import tensor_order
from ...compute.te.regions import extents_of
from ...lower.library.schedules import generic
from ..compile.scheduled import workspace_bytes
from .blocks import Block
from .chunks import Grid, Piece, spans_of
from .parts import has_position
from .program import ChunkedProgram

EDGE: Final = 0.5
"""The share of what is needed below which a part of a chunk may be sent without the rest of it."""


def is_edge(piece: Piece, shape: tuple[int, ...]) -> bool:
    """Whether a piece is a small part of a region of that shape, which consists of several."""
    extents = [inside.stop - inside.start for inside in piece.inside]
    return bool(math.prod(extents) < EDGE * math.prod(shape))


def transfer_of(block: Block, grids: Mapping[int, Grid]) -> tuple[int, int]:
    """The bytes of what a block takes, and of what is put together of it; `grids`: of tensors, by their position."""
    held: dict[tuple[int, int], int] = {}
    copied = 0
    for number, operand in enumerate(block.operands):
        is_joined = len(operand.pieces) > 1
        copied += operand.nbytes if is_joined else 0
        for piece, chunk in zip(operand.pieces, operand.chunks, strict=True):
            size = operand.dtype.itemsize
            if is_joined and is_edge(piece, operand.shape):
                size *= math.prod([inside.stop - inside.start for inside in piece.inside])
                held[number, chunk] = held.get((number, chunk), 0) + size
                continue
            spans = [spans_of(cut)[k] for cut, k in zip(grids[operand.position], piece.chunk, strict=True)]
            whole = math.prod([behind - first for first, behind in spans])
            held[-1, chunk] = size * whole
            copied += operand.nbytes if not is_joined and operand.nbytes < size * whole else 0
    return sum(held.values()), copied


def given_of(block: Block, program: ChunkedProgram) -> int:
    """The bytes of what a block gives."""
    pair = 8 if has_position(program.tensor(block.regions[0][0]), block.steps) else 0
    given = [
        math.prod([behind - first for first, behind in region])
        * (int(program.tensor(position).dtype.numpy.itemsize) + pair)
        for position, region in block.regions
    ]
    return sum(given)


def workspace_of(block: Block, program: ChunkedProgram, target: Target) -> int:
    """The bytes of what a block computes on its way: what its kernel allocates; all between, where that is Python."""
    inputs, outputs = block.computation(program)
    between = [each for each in tensor_order(outputs, inputs) if each not in outputs]
    if any([isinstance(each.op, Extern) for each in (*between, *outputs)]):
        return sum(map(_nbytes, between))
    with target:
        return workspace_bytes(generic(outputs, target), [*inputs, *outputs])


def _nbytes(tensor: Tensor) -> int:
    return math.prod(extents_of(tensor)) * int(tensor.dtype.numpy.itemsize)
