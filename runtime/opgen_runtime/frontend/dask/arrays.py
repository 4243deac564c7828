"""A program of the graph on arrays of dask: its tasks as a graph of dask, a layer for each stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from ...base import Target
from ...run.chunked import ChunkedProgram, Partition, partition
from ...run.chunked.blocks import Block, Operand, inside
from ...run.chunked.chunks import Piece
from ...run.chunked.memory import is_edge
from ...run.chunked.partition import Stage
from ...run.chunked.tasks import Fold, Key, Pick, Same, stage_tasks

TARGET: Final = "llvm -mcpu=native -num-threads=1"
"""Of tasks: dask says how many run at a time."""


def as_dask(value: Any) -> da.Array:
    """An operand as an array of dask: numpy's are one chunk."""
    if isinstance(value, da.Array):
        return value
    array = np.asarray(value)
    return da.from_array(array, chunks=array.shape, name=f"operand-{tokenize(array)}")


def grids_of(operands: Sequence[da.Array]) -> list[tuple[tuple[int, ...], ...]]:
    """How the operands are cut."""
    return [tuple([tuple(map(int, cut)) for cut in each.chunks]) for each in operands]


def apply(program: ChunkedProgram, operands: Sequence[Any], joined: bool) -> tuple[da.Array, ...]:
    """The results of the program, lazy.

    `joined`: as for `partition`.  Raises what that raises.
    """
    arrays = [as_dask(each) for each in operands]
    return _Graph(partition(program, grids_of(arrays), joined), arrays).results()


class _Graph:
    def __init__(self, made: Partition, arrays: Sequence[da.Array]) -> None:
        self.made = made
        program = self.program = made.program
        token = tokenize(program.digest, [each.name for each in arrays], [each.chunks for each in arrays])
        self.token = token
        self.whole = f"program-{token}"  # the key of the program, which every worker gets once
        self.names = {k: each.name for k, each in enumerate(arrays)}
        self.layers: dict[str, dict[Any, Any]] = {self.whole: {self.whole: program}}
        self.dependencies: dict[str, set[str]] = {self.whole: set()}
        self.arrays = arrays
        for k, constant in enumerate(program.constants, len(arrays)):
            name = self.names[k] = f"constant-{k}-{token}"
            self.layers[name] = {(name, *[0] * constant.ndim): constant}
            self.dependencies[name] = set()
        for stage in made.stages:
            self.names[stage.position] = self._label(stage)

    def results(self) -> tuple[da.Array, ...]:
        for stage in self.made.stages:
            self._add(stage)
        layers: dict[str, Any] = dict(self.layers)
        dependencies: dict[str, set[str]] = dict(self.dependencies)
        for each in self.arrays:
            layers.update(each.dask.layers)
            dependencies.update(each.dask.dependencies)
        graph = HighLevelGraph(layers, dependencies)
        program = self.made.program
        return tuple(
            [
                da.Array(
                    graph,
                    self.names[program.position[tensor]],
                    self.made.array_grid(tensor),
                    dtype=dtype,
                    meta=np.empty((0,) * len(shape), dtype),
                )
                for tensor, (shape, dtype) in zip(program.outputs, program.results, strict=True)
            ]
        )

    def _label(self, stage: Stage) -> str:
        """The name of a stage, of which the dashboard shows what is before the token."""
        return f"{self.made.label(stage)}-{tokenize(self.token, stage.position)}"

    def _add(self, stage: Stage) -> None:
        name = self.names[stage.position]
        layer: dict[Any, Any] = {}
        used = {self.whole}
        for task in stage_tasks(self.made, stage):
            work, takes = task.work, [self._key(each) for each in task.takes]
            if isinstance(work, Block):
                work, takes = _with_edges(work, takes, layer, self.made, name)
            used |= {self.names[int(each[0])] for each in task.takes}
            layer[self._key(task.key)] = (
                takes[0] if isinstance(work, Same) else (_run, work, self.whole, *takes)
            )
        self.layers[name] = layer
        self.dependencies[name] = used - {name}

    def _key(self, key: Key) -> tuple[Any, ...]:
        """The key of dask of a chunk, or of a partial result, whose text makes its name another one."""
        position, *rest = key
        name = self.names[int(position)]
        if self.program.tensor(int(position)) in self.program.complex:
            rest.pop(self.program.tensor(int(position)).ndim - 1)  # the place along the axis of parts
        texts = [k for k in rest if isinstance(k, str)]
        if not texts:
            return (name, *rest)
        label, _, token = name.rpartition("-")
        return (f"{label}_{texts[0]}-{token}", *[k for k in rest if not isinstance(k, str)])


def _with_edges(
    block: Block, takes: list[tuple[Any, ...]], layer: dict[Any, Any], made: Partition, name: str
) -> tuple[Block, list[tuple[Any, ...]]]:
    """The block with small parts of chunks cut out by tasks of their own, where the chunks lie."""
    operands: list[Operand] = []
    taken = dict.fromkeys(takes)
    keys = list(taken)
    for operand in block.operands:
        pieces: list[Piece] = []
        chunks: list[int] = []
        for piece, chunk in zip(operand.pieces, operand.chunks, strict=True):
            source = takes[chunk]
            if len(operand.pieces) > 1 and is_edge(piece, operand.shape):
                label, _, token = name.rpartition("-")
                spans = tuple([(each.start, each.stop) for each in piece.inside])
                key = (f"{label}_edge-{token}", tokenize(source, spans))
                layer[key] = (_edge, source, spans)
                piece = Piece(piece.chunk, tuple([slice(0, b - a) for a, b in spans]), piece.at)
                source = key
            if source not in keys:
                keys.append(source)
            pieces.append(piece)
            chunks.append(keys.index(source))
        operands.append(Operand(operand.position, operand.shape, operand.dtype, tuple(pieces), tuple(chunks)))
    used = sorted({chunk for operand in operands for chunk in operand.chunks})
    moved = {old: new for new, old in enumerate(used)}
    operands = [
        Operand(each.position, each.shape, each.dtype, each.pieces, tuple([moved[k] for k in each.chunks]))
        for each in operands
    ]
    fresh = replace(block, operands=tuple(operands))
    return fresh, [keys[k] for k in used]


def _edge(chunk: Any, spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """A part of a chunk, without the rest of it."""
    return np.array(inside(chunk, tuple([slice(a, b) for a, b in spans])))


def _run(work: Block | Fold | Pick, program: ChunkedProgram, *values: Any) -> Any:
    """A task, on a worker."""
    return work.run(program, Target.parse(TARGET), *values)
