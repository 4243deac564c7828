"""What a partition costs, before anything of it runs."""

from __future__ import annotations

from collections.abc import Sequence

from ...base import Target
from ...base.vocabulary import dataclass
from .blocks import Block
from .chunks import Grid, count_of, size_text
from .combining import FAN_IN
from .memory import given_of, transfer_of, workspace_of
from .partition import Partition, Stage
from .tasks import stage_tasks


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
    """The stages of a program over chunked arrays; prints as a table.  `limit`: the bytes that a task may have."""

    name: str
    stages: Sequence[StageReport]
    limit: int | None = None

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
        if self.too_large:
            lines.append(
                f"more than a task may have, {size_text(self.limit or 0)}: {', '.join(self.too_large)}"
            )
        return "\n".join(lines)

    @property
    def too_large(self) -> list[str]:
        """The names of the stages of which a task has more than the limit."""
        return [each.name for each in self.stages if self.limit is not None and each.peak > self.limit]


def report(partition: Partition, target: Target | None = None, limit: int | None = None) -> Report:
    """What the stages cost, without computing any; `target`: of the tasks, the current one by default."""
    chosen = Target.current() if target is None else target
    stages = [_stage(partition, stage, chosen) for stage in partition.stages if stage.leader is None]
    return Report(partition.program.name, stages, limit)


def _stage(partition: Partition, stage: Stage, target: Target) -> StageReport:
    """The largest block tells what one has on its way: its kernel is lowered, none is compiled."""
    program = partition.program
    tasks, taken, largest, most, parts = 0, 0, None, -1, 0
    for task in stage_tasks(partition, stage):
        tasks += 1
        if not isinstance(task.work, Block):
            continue
        block = task.work
        taken += sum([operand.nbytes for operand in block.operands])
        grids = {each.position: partition.grid_of(program.tensor(each.position)) for each in block.operands}
        given = given_of(block, program)
        parts = max(parts, given)
        size = sum(transfer_of(block, grids)) + given
        if size > most:
            largest, most = block, size
    peak = most
    if largest is not None and not largest.is_empty:
        peak += workspace_of(largest, program, target)
    if stage.is_cut:  # a fold has what it folds, what is folded of it so far, and what comes next
        peak = max(peak, (min(count_of(stage.steps), FAN_IN) + 2) * parts)
    return StageReport(partition.label(stage), stage.grid, stage.steps, tasks, taken, peak)


def _cut(cut: Sequence[int]) -> str:
    if len(cut) == 1:
        return str(cut[0])
    if len(set(cut[:-1])) == 1 and cut[-1] <= cut[0]:
        return f"{len(cut)} of {cut[0]}"
    return f"{len(cut)} of {min(cut)} to {max(cut)}"
