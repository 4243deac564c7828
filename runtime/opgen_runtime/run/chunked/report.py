"""What a partition costs, before anything of it runs."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.vocabulary import dataclass
from ...compute.te import Compute, Reduce, Scan, Tensor
from ...compute.te.regions import Region, volume
from .chunks import Grid, count_of, size_text
from .combining import FAN_IN
from .partition import Partition, Stage


@dataclass(frozen=True, slots=True)
class StageReport:
    """A stage: `tasks`, folds among them; `nbytes`, that its tasks take of what others hold; `peak`, of one task."""

    name: str
    grid: Grid
    steps: Grid
    tasks: int
    nbytes: int
    peak: int


@dataclass(frozen=True, slots=True)
class Report:
    """The stages of a program over chunked arrays; prints as a table."""

    name: str
    stages: Sequence[StageReport]

    @property
    def tasks(self) -> int:
        """All tasks."""
        return sum([stage.tasks for stage in self.stages])

    @property
    def nbytes(self) -> int:
        """The bytes that tasks take of what others hold, each time they do."""
        return sum([stage.nbytes for stage in self.stages])

    @property
    def peak(self) -> int:
        """The most bytes that one task has: what it takes, what it computes on the way, what it gives."""
        return max([stage.peak for stage in self.stages], default=0)

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.tasks} tasks, {size_text(self.nbytes)} taken, {size_text(self.peak)} at most in one"
        ]
        width = max([len(stage.name) for stage in self.stages], default=0)
        for stage in self.stages:
            cuts = " x ".join([_cut(cut) for cut in stage.grid]) or "one number"
            steps = f", along {' x '.join([_cut(cut) for cut in stage.steps])}" if stage.steps else ""
            taken, peak = size_text(stage.nbytes), size_text(stage.peak)
            costs = f"{stage.tasks:6} tasks  {taken:>10}  {peak:>10}"
            lines.append(f"    {stage.name:{width}}  {costs}  chunks {cuts}{steps}")
        return "\n".join(lines)


def report(partition: Partition) -> Report:
    """What the stages cost: exactly, but for the memory of what a task computes on the way, of which it is a bound."""
    return Report(partition.program.name, [_stage(partition, stage) for stage in partition.stages])


def _stage(partition: Partition, stage: Stage) -> StageReport:
    taken, peak = 0, 0
    for _, region, steps in stage.blocks():
        needs = partition.needs(stage, region, steps, inner=True)
        own, inside = 0, _bytes(stage.tensor, region)
        for tensor, need in needs.items():
            size = _bytes(tensor, need.region)
            if tensor in partition.stored or tensor in partition.program.inputs:
                own += size
                # what lies in several chunks, or in a part of one, is put together
                inside += size
            elif isinstance(tensor.op, Scan) or (
                isinstance(tensor.op, Compute) and isinstance(tensor.op.body, Reduce)
            ):
                inside += size
        taken += own
        peak = max(peak, own + inside)
    folds = 0
    parts = count_of(stage.steps) if stage.steps else 1
    while parts > 1:
        parts = -(-parts // FAN_IN)
        folds += parts
    return StageReport(
        partition.label(stage),
        stage.grid,
        stage.steps,
        stage.tasks + folds * count_of(stage.grid),
        taken,
        peak,
    )


def _bytes(tensor: Tensor, region: Region) -> int:
    return volume(region) * int(tensor.dtype.numpy.itemsize)


def _cut(cut: Sequence[int]) -> str:
    if len(cut) == 1:
        return str(cut[0])
    if len(set(cut[:-1])) == 1 and cut[-1] <= cut[0]:
        return f"{len(cut)} of {cut[0]}"
    return f"{len(cut)} of {min(cut)} to {max(cut)}"
