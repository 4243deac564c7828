"""How a scan is computed: what runs in each of its steps, and how many rows of each of its tensors are kept.

    h[t, i] = f(h[t - 1, i], x[t, i]); out[t, i] = g(h[t, i]); last[i] = h[T - 1, i]
-->
    for step in range(T): h[step % 2, i] = f(h[(step - 1) % 2, i], x[step, i]); out[step, i] = g(h[step % 2, i])
    last[i] = h[(T - 1) % 2, i]

Everything is derived from the positions at which tensors are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...base.arith import Analyzer, Const, Expr, Var, post_order, sub
from ...base.vocabulary import INDEX
from ...compute.te.tensor import IterVar, Read, Reduce, Scan, Tensor

if TYPE_CHECKING:
    from .stage import Stage


@dataclass(frozen=True, slots=True)
class Line:
    """Row `index` along `dim` of a tensor is computed in step `sign * index + start` of a scan; sign is 1 or -1."""

    dim: int
    sign: int
    start: int | Expr

    def step(self, index: Expr) -> Expr:
        """The step that computes a row."""
        return index + self.start if self.sign > 0 else self.start - index

    def index(self, step: Expr) -> Expr:
        """The row that a step computes."""
        return step - self.start if self.sign > 0 else self.start - step


@dataclass(eq=False, slots=True)
class Rows:
    """The steps of a scan.

    `members` run in every step, in order: the states, then the stages that follow them row by row; `closing` ones run
    after the last step.  `lines` tells when each row of a member's tensor is computed.  Of the tensors in `windows`
    only so many rows are kept, and `local` ones are read by members and closing stages alone.  Where `separable`, each
    member reads the others' rows at its own position of all other dims only, so that the positions are independent.
    """

    step: Var
    extent: int | Expr
    members: list[Stage]
    lines: dict[Tensor, Line]
    separable: bool
    closing: list[Stage] = field(default_factory=list)
    windows: dict[Tensor, int] = field(default_factory=dict)
    local: set[Tensor] = field(default_factory=set)


def rows_of(scan: Scan, members: list[Stage]) -> Rows:
    """The steps of a scan that is stored whole; `members` are stages of its states."""
    lines: dict[Tensor, Line] = {}
    for state, stage in zip(scan.states, members, strict=True):
        start = 0 if scan.direction > 0 else scan.extent - 1
        lines[stage.tensor] = Line(state.scan_axis, scan.direction, start)
    separable = all(is_aligned(stage, members[0], lines) for stage in members)
    return Rows(Var(INDEX, "step"), scan.extent, members, lines, separable)


def others(stage: Stage, lines: Mapping[Tensor, Line]) -> list[IterVar]:
    """The axes of a stage without the one along which it follows a scan."""
    line = lines.get(stage.tensor)
    return [axis for dim, axis in enumerate(stage.axes) if line is None or dim != line.dim]


def is_aligned(stage: Stage, model: Stage, lines: Mapping[Tensor, Line]) -> bool:
    """Whether a stage has the positions of `model` and reads the rows of a scan at its own position only."""
    own = others(stage, lines)
    if [axis.extent for axis in own] != [axis.extent for axis in others(model, lines)]:
        return False
    at = [axis.var for axis in own]
    return all(
        [index for dim, index in enumerate(read.indices) if dim != lines[read.tensor].dim] == at
        for read in row_reads(stage, lines)
    )


def row_reads(stage: Stage, lines: Mapping[Tensor, Line]) -> Iterator[Read]:
    """The reads of rows of a scan."""
    assert stage.body is not None
    return (node for node in post_order(stage.body) if isinstance(node, Read) and node.tensor in lines)


def constant(e: Expr) -> int | None:
    """The value of an index that is the same everywhere; None where it is not known to be."""
    found = Analyzer().simplify(e)
    return int(found.value) if isinstance(found, Const) else None


def _slope(index: Expr, axes: Sequence[IterVar]) -> tuple[int, int, int] | None:
    """`index` as `sign * var + offset` of an axis: the axis' position, sign and offset."""
    used = {node for node in post_order(index) if isinstance(node, Var)}
    found = [(dim, axis.var) for dim, axis in enumerate(axes) if axis.var in used]
    if len(found) != 1 or len(used) != 1:
        return None
    ((dim, var),) = found
    for sign, rest in ((1, sub(index, var)), (-1, index + var)):
        offset = constant(rest)
        if offset is not None:
            return dim, sign, offset
    return None


class Roller:
    """Finds which stages can follow a scan row by row, and how many rows are then needed.

    `extent` is the number of steps; `whole` collects the tensors of which all rows are needed.
    """

    def __init__(self, rows: Rows, extent: int) -> None:
        self.rows, self.extent = rows, extent
        self.lines = dict(rows.lines)
        self.members = list(rows.members)
        self.closing: list[Stage] = []
        self.ages: dict[Tensor, int] = {}
        self.whole: set[Tensor] = set()
        self.shared: set[Tensor] = set()  # read after the scan by stages with loops of their own
        for stage in rows.members:
            line = self.lines[stage.tensor]
            for read in row_reads(stage, rows.lines):
                found = _slope(read.indices[rows.lines[read.tensor].dim], stage.axes)
                if found is None or found[:2] != (line.dim, 1):
                    self.whole.add(read.tensor)
                else:
                    self._keep(read.tensor, abs(found[2]))

    def _keep(self, tensor: Tensor, age: int) -> None:
        self.ages[tensor] = max(self.ages.get(tensor, 0), age)

    def add(self, stage: Stage, reads: Sequence[Tensor], alone: bool) -> None:
        """Take in a stage that depends on the scan and reads `reads`.

        `alone` tells that all else that it reads is known before the scan.
        """
        rows = [tensor for tensor in reads if tensor in self.lines]
        if not rows:
            return
        if stage.body is None or stage.attach is not None or stage.relations:
            self.whole.update(rows)
            return
        if self._closes(stage, alone):
            return
        line = self._followed(stage) if alone else None
        if line is None:
            self.whole.update(rows)
            return
        self.lines[stage.tensor] = line
        self.members.append(stage)

    def _closes(self, stage: Stage, alone: bool) -> bool:
        """Whether the stage reads the same rows at each position; they are kept, as old as they are in the end."""
        steps: list[tuple[Tensor, int]] = []
        for read in row_reads(stage, self.lines):
            line = self.lines[read.tensor]
            step = constant(line.step(read.indices[line.dim]))
            if step is None:
                return False
            steps.append((read.tensor, step))
        for tensor, step in steps:
            self._keep(tensor, max(0, self.extent - 1 - step))
        inside = alone and self.rows.separable and not isinstance(stage.body, Reduce)
        if inside and is_aligned(stage, self.rows.members[0], self.lines):
            self.closing.append(stage)
        else:
            self.shared.update(tensor for tensor, _ in steps)
        return True

    def _followed(self, stage: Stage) -> Line | None:
        """The line along which a stage follows the scan: each of its rows needs rows that are there by then."""
        found: list[tuple[Tensor, int]] = []
        along: tuple[int, int] | None = None
        for read in row_reads(stage, self.lines):
            line = self.lines[read.tensor]
            slope = _slope(read.indices[line.dim], stage.axes)
            if slope is None or not isinstance(line.start, int):
                return None
            dim, sign, offset = slope
            if along is not None and along != (dim, sign * line.sign):
                return None
            along = (dim, sign * line.sign)
            found.append((read.tensor, line.sign * offset + line.start))
        assert along is not None
        dim, sign = along
        extent = stage.axes[dim].extent
        start = max(start for _, start in found)
        if not isinstance(extent, int) or not extent:
            return None
        start += max(0, -min(start, start + sign * (extent - 1)))
        if max(start, start + sign * (extent - 1)) >= self.extent:
            return None
        made = Line(dim, sign, start)
        lines = {**self.lines, stage.tensor: made}
        inside = not isinstance(stage.body, Reduce) and is_aligned(stage, self.rows.members[0], lines)
        if self.rows.separable and not inside:
            return None
        for tensor, own in found:
            self._keep(tensor, start - own)
        return made

    def apply(self, outputs: set[Tensor]) -> None:
        """Change the scan's rows; nothing changes where every tensor is needed whole."""
        rows = self.rows
        windows = {
            tensor: age
            for tensor in self.lines
            if tensor not in self.whole
            and tensor not in outputs
            and (age := self.ages.get(tensor, 0) + 1) < self.extent
        }
        if not windows:
            return
        rows.lines, rows.members, rows.closing, rows.windows = self.lines, self.members, self.closing, windows
        if rows.separable:
            rows.local = windows.keys() - self.shared
        for stage in self.members:
            stage.follows = rows
        for stage in self.closing:
            stage.follows = rows
