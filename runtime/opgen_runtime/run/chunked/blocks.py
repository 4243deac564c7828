"""One block of a stage: what is compiled for it, and a call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...base import Target
from ...base.vocabulary import dataclass
from ...compute import te
from ...compute.te import Tensor
from ...compute.te.regions import Region
from ...lower.library.schedules import generic
from ...lower.library.segment import array_by_parts, array_of_parts
from ..compile.function import TensorFunction
from ..compile.scheduled import build_schedule
from ..compile.specialisations import Specialisations
from .chunks import Piece
from .parts import has_position, part_of, values_of
from .program import ChunkedProgram


def inside(chunk: Any, spans: tuple[slice, ...]) -> Any:
    """A part of a chunk; of complex numbers, whose parts have a span of their own, as real ones."""
    if not np.issubdtype(chunk.dtype, np.complexfloating):
        return chunk[spans]
    return array_by_parts(np.asarray(chunk[spans[:-1]]))[..., spans[-1]]


@dataclass(frozen=True, slots=True)
class Operand:
    """What a block takes of one operand: the shape of the region, and the pieces of chunks that it consists of.

    `position`: of the tensor in the program.  `chunks`: which of the arrays given to the block each piece is of.
    """

    position: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pieces: tuple[Piece, ...]
    chunks: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """The bytes of the region."""
        return math.prod(self.shape) * self.dtype.itemsize

    def gathered(self, arrays: Sequence[Any]) -> np.ndarray:
        """The region as an array, contiguous: of a chunk itself where it is one."""
        if len(self.pieces) == 1:
            piece = self.pieces[0]
            return np.asarray(inside(arrays[self.chunks[0]], piece.inside), self.dtype, order="C")
        whole = np.empty(self.shape, self.dtype)
        for piece, chunk in zip(self.pieces, self.chunks, strict=True):
            whole[piece.at] = inside(arrays[chunk], piece.inside)
        return whole


@dataclass(frozen=True, slots=True)
class Block:
    """Regions of the tensors at some positions of a program, computed from `operands`.

    There are several `regions` of states of one scan.  `given`: the positions of what is stored; `steps`: the elements
    of its reduce axes that a partial result is of; `is_resumed`: it is steps of a scan, of which others give those
    before.
    """

    regions: tuple[tuple[int, Region], ...]
    given: tuple[int, ...]
    steps: Region | None
    is_resumed: bool
    operands: tuple[Operand, ...]

    @property
    def is_empty(self) -> bool:
        """Whether it has no elements."""
        return all([0 in _shape(region) for _, region in self.regions])

    def computation(self, program: ChunkedProgram) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """What gives the block as tensors of its own: the inputs, one for each operand, and the outputs."""
        regions = {program.tensor(position): region for position, region in self.regions}
        whole = part_of(program, regions, self.steps, self.is_resumed)
        part = whole.restricted(frozenset([program.tensor(k) for k in self.given]))
        return part.inputs, te.normalize(part.outputs)

    def run(self, program: ChunkedProgram, target: Target, *arrays: Any) -> Any:
        """The block of the chunks that it takes; of a reduction to positions the pair of them and the values; of
        several regions a tuple.
        """
        tensor = program.tensor(self.regions[0][0])
        if self.is_empty:
            made = [
                _given(program, k, np.empty(_shape(each), program.tensor(k).dtype.numpy))
                for k, each in self.regions
            ]
            if has_position(tensor, self.steps):
                made.append(np.empty(made[0].shape, values_of(tensor).dtype.numpy))
            return made[0] if len(made) == 1 else tuple(made)
        found = _function(self, program, target)(*[operand.gathered(arrays) for operand in self.operands])
        if len(self.regions) > 1:
            pairs = zip(self.regions, found, strict=True)
            return tuple([_given(program, position, array) for (position, _), array in pairs])
        if not has_position(tensor, self.steps):
            return _given(program, self.regions[0][0], found)
        positions, values = found
        assert self.steps is not None
        return positions + self.steps[0][0], values


def _shape(region: Region) -> list[int]:
    return [behind - first for first, behind in region]


def _given(program: ChunkedProgram, position: int, array: np.ndarray) -> np.ndarray:
    """A chunk as users have it: of complex numbers, where their parts were computed."""
    dtype = program.complex.get(program.tensor(position))
    return array if dtype is None else array_of_parts(array, dtype)


_functions: Final[Specialisations[TensorFunction]] = Specialisations()
_by_region: Final[Specialisations[TensorFunction]] = Specialisations()


def _function(block: Block, program: ChunkedProgram, target: Target) -> TensorFunction:
    """What computes the block: one function for all regions that differ in nothing but their place."""
    key = (program.digest, str(target), block.given, block.regions, block.steps)

    def made() -> TensorFunction:
        inputs, outputs = block.computation(program)
        text = te.to_text(outputs)
        shapes = str([(each.name, each.shape) for each in inputs])

        def compiled() -> TensorFunction:
            return build_schedule(generic(outputs, target), [*inputs, *outputs], target)

        return _functions.made((program.digest, str(target), text, shapes), compiled)

    return _by_region.made(key, made)
