"""`stream`: a function of arrays that are larger than memory, a chunk at a time, in this process.

x = np.memmap("x.bin", "float32", "r", shape=(1_000_000, 512))
y = np.memmap("y.bin", "float32", "w+", shape=(1_000_000, 512))
rt.stream(lambda x: ops.softmax(ops.tanh(x), axis=1), x, out=y)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...base import Target
from ...base.errors import CallError
from .chunks import Grid, cut_of, region_of, regions_of
from .partition import Partition, partition
from .program import ChunkedProgram, traced
from .tasks import Key, Task, stage_tasks

_CHUNK_BYTES: Final = 1 << 26  # of the chunks of an operand, where nothing is said


def stream(
    function: Callable[..., Any],
    *arrays: Any,
    out: Any = None,
    chunks: Sequence[Any] | None = None,
    rechunk: str | None = None,
) -> Any:
    """What `function` gives of the arrays, computed in chunks: of each only what a chunk needs is read at a time.

    `function`: of arrays, such as what `jit` takes, jitted or not.  `arrays`: with shape, dtype and slices, such as
    memory-mapped ones of numpy or those of zarr.  `out`: what the results are written into, new arrays by default.
    `chunks`: for each array the lengths of its chunks, a number or a tuple for each axis, or None for it whole; by
    default chunks of 64 MiB along the first axis.  `rechunk`: "auto" puts chunks together along axes that are needed
    whole.

    Raises CallError for what does not fit, ExecutorError for a program that has no chunks, WholeAxisError (one of
    them) for a cut axis that is needed whole.
    """
    program, operands, restored = traced(function, arrays, {}, lambda value: hasattr(value, "shape"))
    types = [program.array_type(tensor) for tensor in program.parameters]
    grids = [_grid(extents, dtype.itemsize, k, chunks) for k, (extents, dtype) in enumerate(types)]
    made = partition(program, grids, joined=joined(rechunk))
    results = [*out] if isinstance(out, tuple | list) else [out] if out is not None else None
    if results is None:
        results = [np.empty(shape, dtype) for shape, dtype in program.results]
    _check_results(program, results)
    _Run(made, operands).write(results)
    return restored(results)


def joined(rechunk: str | None) -> bool:
    """Whether chunks are put together where an axis is needed whole.  Raises CallError for what says neither."""
    if rechunk not in (None, "auto"):
        raise CallError(f"rechunk: expected 'auto' or None, found {rechunk!r}")
    return rechunk == "auto"


def _grid(extents: Sequence[int], itemsize: int, place: int, chunks: Sequence[Any] | None) -> Grid:
    """The grid of an argument, as it is asked for, or by bytes."""
    what = f"chunks of argument {place}"
    if chunks is None:
        row = max(math.prod(extents[1:]) * itemsize, 1)
        wanted: Sequence[Any] = (max(_CHUNK_BYTES // row, 1), *[None] * (len(extents) - 1)) if extents else ()
    elif place >= len(chunks):
        raise CallError(f"{what}: expected one entry an array, found {len(chunks)}")
    else:
        given = chunks[place]
        wanted = (
            [None] * len(extents)
            if given is None
            else [given] * len(extents)
            if isinstance(given, int)
            else given
        )
    if len(wanted) != len(extents):
        raise CallError(f"{what}: expected one entry for each of {len(extents)} axes, found {len(wanted)}")
    return tuple(
        [
            cut_of(each, n, f"{what}, axis {k}")
            for k, (each, n) in enumerate(zip(wanted, extents, strict=True))
        ]
    )


def _check_results(program: ChunkedProgram, results: Sequence[Any]) -> None:
    if len(results) != len(program.outputs):
        raise CallError(f"{program.name}: out: expected {len(program.outputs)} arrays, found {len(results)}")
    for k, (expected, result) in enumerate(zip(program.results, results, strict=True)):
        found = (tuple(result.shape), np.dtype(result.dtype))
        if expected != found:
            raise CallError(
                f"{program.name}: out[{k}]: expected {expected[1]}{list(expected[0])}, found {found[1]}{list(found[0])}"
            )


class _Run:
    """`held`: the values of keys that are still needed, and how often."""

    def __init__(self, made: Partition, arrays: Sequence[Any]) -> None:
        self.made = made
        program = made.program
        self.target = Target.current()
        self.sources = dict(zip(range(len(program.inputs)), [*arrays, *program.constants], strict=True))
        self.tasks: dict[Key, Task] = {}
        self.uses: Counter[Key] = Counter()
        for stage in made.stages:
            for task in stage_tasks(made, stage):
                self.tasks[task.key] = task
                self.uses.update(task.takes)
        self.held: dict[Key, Any] = {}

    def write(self, results: Sequence[Any]) -> None:
        """Computes each chunk of the results, and writes it where it belongs."""
        for tensor, result in zip(self.made.program.outputs, results, strict=True):
            position = self.made.program.position[tensor]
            ndim = len(self.made.array_grid(tensor))
            for place, region in regions_of(self.made.grid_of(tensor)):
                value = self.value((position, *place), is_last=True)
                result[tuple([slice(a, b) for a, b in region[:ndim]])] = value

    def value(self, wanted: Key, is_last: bool = False) -> Any:
        """The value of a key, computed with all that it takes; without recursion, for chains are long."""
        stack = [wanted]
        while stack:
            key = stack[-1]
            if key in self.held or key[0] in self.sources:
                stack.pop()
                continue
            task = self.tasks[key]
            missing = [each for each in task.takes if each not in self.held and each[0] not in self.sources]
            if missing:
                stack += missing[::-1]
                continue
            self.held[key] = task.run(
                self.made.program, self.target, [self._read(each) for each in task.takes]
            )
            for each in task.takes:
                self.uses[each] -= 1
                if not self.uses[each]:
                    self.held.pop(each, None)
            stack.pop()
        found = self._read(wanted)
        if is_last and not self.uses[wanted]:
            self.held.pop(wanted, None)
        return found

    def _read(self, key: Key) -> Any:
        """A value that was computed, or the chunk of an operand."""
        if key in self.held:
            return self.held[key]
        source = self.sources[int(key[0])]
        grid = self.made.array_grid(self.made.program.tensor(int(key[0])))
        place = [int(k) for k in key[1 : 1 + len(grid)]]
        return source[tuple([slice(a, b) for a, b in region_of(grid, tuple(place))])]
