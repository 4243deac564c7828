"""A program over chunked arrays as stages, each of which is computed a chunk at a time.

    softmax over the rows of x, of chunks of 100 rows and 1,000 of 4,000 columns

    m    max of each row      partial results of chunks, folded
    s    sum of each row      of exp(x - m), partial results of chunks, folded
    out                       exp(x - m) * (1 / s), one task a chunk

What is stored in chunks are the results; reductions along an axis that is cut; what hand-written functions give; and
what would be computed again and again otherwise.  All else is computed inside the tasks that need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from ...base.arith import Cast, Expr, free_vars, holds, post_order
from ...base.errors import ExecutorError
from ...base.vocabulary import dataclass
from ...compute.te import Compute, Extern, IterVar, Placeholder, Read, Reduce, Scan, Sort, Tensor, Update
from ...compute.te.complex_pairs import PARTS
from ...compute.te.position_tables import is_of_tables
from ...compute.te.regions import Need, Region, Whole, bound_axes, extents_of, unsplit_axes, volume, whole_of
from ...compute.te.resumed import lookback
from ...compute.te.scan_axes import axis_names
from .chunks import Cut, Grid, Place, count_of, one_chunk, region_of, regions_of, scaled, size_text
from .combining import COMBINERS
from .labels import label_of
from .parts import part_of, scan_axis_of
from .program import ChunkedProgram

_MOST_REPEATED: Final = 1.5  # times that a stage's elements are computed, from which on it is stored
_MOST_STORED: Final = 8.0  # elements of states for one that a scan reads, up to which its steps are cut
_SAMPLED: Final = 64  # chunks of a stage whose needs stand for those of all


Regions: TypeAlias = Mapping[Tensor, Region]
"""What a block gives: regions of tensors, the first of them the stage's."""


class WholeAxisError(ExecutorError):
    """An axis is cut that is needed whole: `axis`, of the operand at `place`; None for what is between."""

    def __init__(self, message: str, place: int | None, axis: int) -> None:
        super().__init__(message)
        self.place = place
        self.axis = axis


@dataclass(frozen=True, slots=True)
class Stage:
    """A tensor that is stored in chunks.

    `steps`: of a reduction along cut axes, the cuts of its reduce axes.  `is_resumed`: each chunk of a scan takes the
    last steps of the one before it.  `others`: states of the same scan that its tasks give, too; `leader`: of such a
    state, whose tasks these are, and its number among the others.
    """

    tensor: Tensor
    position: int
    grid: Grid
    steps: Grid = ()
    is_resumed: bool = False
    others: tuple[tuple[Tensor, Grid], ...] = ()
    leader: tuple[int, int] | None = None

    @property
    def is_cut(self) -> bool:
        """Whether its elements are folded of partial results."""
        return bool(self.steps)

    @property
    def combiner(self) -> tuple[str, bool]:
        """What folds its partial results; and whether these are pairs of positions and values."""
        body = self.tensor.op.body if isinstance(self.tensor.op, Compute) else None
        assert isinstance(body, Reduce)
        return body.combiner, COMBINERS[body.combiner].has_position

    @property
    def tasks(self) -> int:
        """How many blocks are computed, partial ones each."""
        return count_of(self.grid) * count_of(self.steps)

    def blocks(self) -> Iterable[tuple[Place, Regions, Region | None]]:
        """Each block: which chunk it is (of), its regions, and that of the reduce axes where these are cut."""
        for place, region in regions_of(self.grid):
            regions = {self.tensor: region}
            for tensor, grid in self.others:
                regions[tensor] = region_of(grid, self.place_of(tensor, place))
            for _, steps in regions_of(self.steps) if self.steps else [((), None)]:
                yield place, regions, steps

    def place_of(self, other: Tensor, place: Place) -> Place:
        """Which chunk of another state is computed with one of this one."""
        return _place(self.tensor, place, other)

    def own_place(self, other: Tensor, place: Place) -> Place:
        """Which chunk of this one is computed with one of another state."""
        return _place(other, place, self.tensor)


@dataclass(frozen=True, slots=True)
class Partition:
    """The stages of a program, producers first, over operands that have `grids`, one for each input of the program."""

    program: ChunkedProgram
    grids: Mapping[Tensor, Grid]
    stages: tuple[Stage, ...]

    @property
    def given(self) -> tuple[int, ...]:
        """The positions of what is stored."""
        return tuple([stage.position for stage in self.stages])

    @property
    def stored(self) -> frozenset[Tensor]:
        """The tensors that are."""
        return frozenset([stage.tensor for stage in self.stages])

    def label(self, stage: Stage) -> str:
        """The ops that a stage computes."""
        return label_of(stage.tensor, self.program.owners, self.stored)

    def needs(
        self, stage: Stage, regions: Regions, steps: Region | None, inner: bool = False
    ) -> dict[Tensor, Need]:
        """The regions of inputs and of stored tensors that a block is computed from; `inner`: what is between, too."""
        return _needs(self.program, stage, regions, steps, self.stages, inner)

    def grid_of(self, tensor: Tensor) -> Grid:
        """How an input or a stored tensor is cut."""
        return self.grids[tensor]

    def array_grid(self, tensor: Tensor) -> Grid:
        """How its array is cut, which has no axis of the parts of complex numbers."""
        return self.grids[tensor][:-1] if tensor in self.program.complex else self.grids[tensor]


def partition(program: ChunkedProgram, grids: Sequence[Grid], joined: bool = False) -> Partition:
    """The stages for operands of these grids, one for each parameter.

    `joined`: chunks along an axis that is needed whole are put together in the tasks that need them.  Raises
    WholeAxisError without, which names operand and axis, says why, and what it would take.
    """
    own = [
        (*grid, (PARTS,)) if tensor in program.complex else grid
        for tensor, grid in zip(program.parameters, grids, strict=True)
    ]
    given = [*own, *[one_chunk(array.shape) for array in program.constants]]
    made = _Partition(program, dict(zip(program.inputs, given, strict=True)))
    result = made.run()
    if not joined:
        _check_whole(result)
    return result


class _Partition:
    def __init__(self, program: ChunkedProgram, grids: dict[Tensor, Grid]) -> None:
        self.program = program
        self.grids = grids  # of every tensor
        self.steps: dict[Tensor, Grid] = {}

    def run(self) -> Partition:
        program = self.program
        stored = dict.fromkeys(program.outputs)
        for tensor in program.order:
            if isinstance(tensor.op, Placeholder):
                continue
            grid = self._grid(tensor)
            self.grids[tensor] = (*grid[:-1], (PARTS,)) if tensor in program.complex else grid
            steps = self._reduced(tensor)
            if steps:
                self.steps[tensor] = steps
            is_stored = tensor in stored or steps or isinstance(tensor.op, Extern | Update)
            if is_stored or self._is_resumed(tensor):
                stored.update(dict.fromkeys(self._with_states(tensor)))
        for tensor in reversed(program.order):
            if tensor not in stored and self._is_worth_storing(tensor, tuple(stored)):
                stored.update(dict.fromkeys(self._with_states(tensor)))
        stages: list[Stage] = []
        for tensor in program.order:
            if tensor in stored and tensor not in program.inputs:
                stages.append(self._stage(tensor, stages))
        for k, stage in enumerate(stages):
            own = [each.tensor for each in stages if each.leader and each.leader[0] == stage.position]
            stages[k] = replace(stage, others=tuple([(each, self.grids[each]) for each in own]))
        return Partition(program, self.grids, tuple(stages))

    def _with_states(self, tensor: Tensor) -> list[Tensor]:
        """What is stored if a tensor is: of a scan what others read, and what its steps are resumed with."""
        scan = tensor.op
        if not isinstance(scan, Scan):
            return [tensor]
        back, outputs = lookback(scan), self.program.outputs
        read = {each for tensor in self.program.order if tensor.op is not scan for each in tensor.op.inputs()}
        states = [each for each in self.program.order if each.op is scan]
        carried = back.states if back is not None and self._is_resumed(states[0]) else ()
        return [each for each in states if each in read or each in outputs or each in carried]

    def _stage(self, tensor: Tensor, before: Sequence[Stage] = ()) -> Stage:
        """The stage of a tensor, of which those that come `before` it may give a state of the same scan."""
        position, grid = self.program.position[tensor], self.grids[tensor]
        stage = Stage(tensor, position, grid, self.steps.get(tensor, ()), self._is_resumed(tensor))
        for other in before:
            if other.tensor.op is tensor.op and other.leader is None and _are_cut_alike(other, stage):
                number = len([each for each in before if each.leader and each.leader[0] == other.position])
                return replace(stage, leader=(other.position, number + 1))
        return stage

    def _is_resumed(self, tensor: Tensor) -> bool:
        """Whether a scan is cut along the axis that it runs along."""
        return isinstance(tensor.op, Scan) and len(self.grids[tensor][scan_axis_of(tensor)]) > 1

    def _grid(self, tensor: Tensor) -> Grid:
        """As the operands are cut that are read at the tensor's axes."""
        op = tensor.op
        extents = extents_of(tensor)
        if isinstance(op, Compute):
            reads = _reads_of(op.body, op.axes)
            return tuple([self._cut(axis, reads) or (n,) for axis, n in zip(op.axes, extents, strict=True)])
        if isinstance(op, Scan):
            unsplit = set(unsplit_axes(tensor))
            steps = scan_axis_of(tensor) if _may_be_resumed(op) else None
            return tuple(
                [
                    (n,) if k in unsplit and k != steps else self._row_cut(tensor, op, k) or (n,)
                    for k, n in enumerate(extents)
                ]
            )
        if isinstance(op, Sort):
            cut = self.grids[op.source]
            return (*cut[: op.axis], (extents[op.axis],), *cut[op.axis + 1 :])
        return one_chunk(extents)

    def _row_cut(self, tensor: Tensor, scan: Scan, k: int) -> Cut | None:
        """As what the states read at an axis is cut: what has its extent, else in proportion."""
        name = axis_names(tensor)[k]
        bodies: list[tuple[IterVar, Sequence[Read]]] = []
        for state in scan.states:
            assert state.tensor is not None
            assert state.body is not None
            names = axis_names(state.tensor)
            if name in names:
                bodies.append((state.axes[names.index(name)], _reads_of(state.body, state.axes)))
        for exact in (True, False):
            cuts = [self._cut(axis, reads, exact) for axis, reads in bodies]
            found = [cut for cut in cuts if cut is not None]
            if found:
                return max(found, key=len)
        return None

    def _reduced(self, tensor: Tensor) -> Grid:
        """The cuts of the reduce axes, where there is one of several chunks and partial results can be folded."""
        op = tensor.op
        if not isinstance(op, Compute) or not isinstance(op.body, Reduce):
            return ()
        body = op.body
        if body.combiner not in COMBINERS or not all([isinstance(axis.extent, int) for axis in body.axes]):
            return ()
        reads = _reads_of(body, op.axes)
        steps = tuple([self._cut(axis, reads, exact=True) or (int(str(axis.extent)),) for axis in body.axes])
        steps = tuple([tuple([n for n in cut if n]) or cut for cut in steps])
        if count_of(steps) == 1 or (COMBINERS[body.combiner].has_position and len(steps) > 1):
            return ()
        return steps

    def _cut(self, axis: IterVar, reads: Sequence[Read], exact: bool = False) -> Cut | None:
        """As what is read at the axis is cut: what has its extent, or unless it must be `exact` in proportion."""
        found: list[tuple[bool, int, Cut]] = []
        assert isinstance(axis.extent, int)
        for node in reads:
            if node.tensor not in self.grids:
                continue
            for k, index in enumerate(node.indices):
                if axis.var not in free_vars(_plain(index)) or (
                    holds(index, Read) and not is_of_tables(index)
                ):
                    continue
                cut, extent = self.grids[node.tensor][k], extents_of(node.tensor)[k]
                found.append((extent == axis.extent, len(cut), cut))
        if not found:
            return None
        same = [each for each in found if each[0]]
        if same and (exact or max(n for _, n, _ in same) == max(n for _, n, _ in found)):
            return max(same, key=lambda each: each[1])[2]
        if exact:
            return None
        _, _, cut = max(found, key=lambda each: each[1])
        return scaled(cut, sum(cut), axis.extent)

    def _is_worth_storing(self, tensor: Tensor, stored: Sequence[Tensor]) -> bool:
        """Whether a reduction or a scan would be computed much more than once, or is what a long chain begins with."""
        op = tensor.op
        if not (isinstance(op, Scan) or (isinstance(op, Compute) and isinstance(op.body, Reduce))):
            return False
        stages = [self._stage(each) for each in stored if each not in self.program.inputs]
        computed = 0.0
        for stage in stages:
            blocks = list(stage.blocks())
            sampled = blocks[:: max(len(blocks) // _SAMPLED, 1)]
            part = 0
            for _, regions, steps in sampled:
                need = _needs(self.program, stage, regions, steps, stages, inner=True).get(tensor)
                part += 0 if need is None else volume(need.region)
            computed += part * len(blocks) / max(len(sampled), 1)
        total = 1
        for extent in extents_of(tensor):
            total *= extent
        return computed > _MOST_REPEATED * total


def _place(state: Tensor, place: Place, other: Tensor) -> Place:
    """The chunk of another state with that of one; both are cut alike."""
    along = dict(zip(axis_names(state), place, strict=True))
    return tuple([along.get(name, 0) for name in axis_names(other)])


def _may_be_resumed(scan: Scan) -> bool:
    """Whether its steps may be cut: what a step reads of those before is stored, if that is not much."""
    back = lookback(scan)
    if back is None:
        return False
    stored = sum([volume(whole_of(each)) for each in back.states])
    return stored <= _MOST_STORED * sum([volume(whole_of(each)) for each in scan.inputs()])


def _are_cut_alike(stage: Stage, other: Stage) -> bool:
    """Whether each chunk of two states of a scan has one of the other that is computed with it."""
    cuts, others = [
        {name: cut for name, cut in zip(axis_names(each.tensor), each.grid, strict=True) if len(cut) > 1}
        for each in (stage, other)
    ]
    return cuts == others


def _needs(
    program: ChunkedProgram,
    stage: Stage,
    regions: Regions,
    steps: Region | None,
    stages: Sequence[Stage],
    inner: bool = False,
) -> dict[Tensor, Need]:
    """What a block is computed from; with `inner` also what is computed on the way."""
    part = part_of(program, regions, steps, stage.is_resumed)
    return part.needs(frozenset([each.tensor for each in stages]), inner)


def _check_whole(made: Partition) -> None:
    for stage in made.stages:
        for _, regions, steps in stage.blocks():
            for tensor, need in made.needs(stage, regions, steps).items():
                for axis, why in need.whole.items():
                    cut = made.grid_of(tensor)[axis]
                    if len(cut) > 1 and need.region[axis] == (0, sum(cut)):
                        inputs = made.program.parameters
                        place = inputs.index(tensor) if tensor in inputs else None
                        raise WholeAxisError(_message(made, stage, tensor, axis, why), place, axis)
            break  # what is needed whole is that for every block


def _message(made: Partition, stage: Stage, tensor: Tensor, axis: int, why: Whole) -> str:
    grid = made.grid_of(tensor)
    whole = [
        extent if k == axis else max(cut)
        for k, (cut, extent) in enumerate(zip(grid, extents_of(tensor), strict=True))
    ]
    count = 1
    for extent in whole:
        count *= extent
    size = count * tensor.dtype.numpy.itemsize
    return (
        f"{made.program.name}: axis {axis} of {tensor.name} is needed whole: {why.value}; it is cut into "
        f"{len(grid[axis])} chunks. Rechunk it to one along this axis, or ask for rechunk='auto': a chunk of "
        f"{tuple(whole)} has {size_text(size)}"
    )


def _reads_of(body: Expr, axes: Sequence[IterVar]) -> list[Read]:
    """The reads of a body, with indices that are simplified: what has been reshaped twice is what it was."""
    known = bound_axes(body, axes, [(0, axis.extent) for axis in axes if isinstance(axis.extent, int)])
    return [
        Read(node.dtype, node.tensor, tuple([known.simplify(index) for index in node.indices]))
        for node in post_order(body)
        if isinstance(node, Read)
    ]


def _plain(e: Expr) -> Expr:
    while isinstance(e, Cast):
        e = e.a
    return e
