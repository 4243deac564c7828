"""Rolling buffers: which stages can follow a scan row by row, and how many rows of each tensor are then kept."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.arith import Analyzer, Expr, Var, le, post_order, sub
from ....compute.te.tensor import IterVar, Reduce, Tensor
from ..stages.rows import Rows, TimeAxis, constant, is_aligned, row_reads
from ..stages.stage import Stage


class RollingBuffers:
    """Finds which stages can follow a scan row by row, and how many rows are then needed.

    `whole` collects the tensors of which all rows are needed.
    """

    def __init__(self, rows: Rows[Stage]) -> None:
        self.rows = rows
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
        if stage.body is None or stage.attach is not None or stage.relations or stage.follows is not None:
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
        extent = self.rows.extent
        if not isinstance(extent, int):
            return False  # there may be no last row
        steps: list[tuple[Tensor, int]] = []
        for read in row_reads(stage, self.lines):
            line = self.lines[read.tensor]
            step = constant(line.step(read.indices[line.dim]))
            if step is None:
                return False
            steps.append((read.tensor, step))
        for tensor, step in steps:
            self._keep(tensor, max(0, extent - 1 - step))
        inside = alone and self.rows.separable and not isinstance(stage.body, Reduce)
        if inside and is_aligned(stage, self.rows.members[0], self.lines):
            self.closing.append(stage)
        else:
            self.shared.update(tensor for tensor, _ in steps)
        return True

    def _followed(self, stage: Stage) -> TimeAxis | None:
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
        start = self._start(stage.axes[dim].extent, sign, max(start for _, start in found))
        if start is None:
            return None
        made = TimeAxis(dim, sign, start)
        lines = {**self.lines, stage.tensor: made}
        inside = not isinstance(stage.body, Reduce) and is_aligned(stage, self.rows.members[0], lines)
        if self.rows.separable and not inside:
            return None
        for tensor, own in found:
            self._keep(tensor, start - own)
        return made

    def _start(self, extent: int | Expr, sign: int, start: int) -> int | None:
        """The step of row 0 of a stage, not before `start`, so that each of its rows has a step; None if none is."""
        if isinstance(extent, int) and isinstance(self.rows.extent, int):
            if not extent:
                return None
            start += max(0, -min(start, start + sign * (extent - 1)))
            return start if max(start, start + sign * (extent - 1)) < self.rows.extent else None
        start = max(start, 0)
        return start if sign > 0 and Analyzer().prove(le(start + extent, self.rows.extent)) else None

    def apply(self, outputs: set[Tensor]) -> None:
        """Change the scan's rows; nothing changes where every tensor is needed whole."""
        rows = self.rows
        windows = {
            tensor: age
            for tensor in self.lines
            if tensor not in self.whole
            and tensor not in outputs
            and self._are_few(age := self.ages.get(tensor, 0) + 1)
        }
        if not windows:
            return
        rows.lines, rows.members, rows.closing, rows.windows = self.lines, self.members, self.closing, windows
        if rows.separable:
            rows.local = windows.keys() - self.shared
        for stage in (*self.members, *self.closing):
            stage.follow(rows)

    def _are_few(self, rows: int) -> bool:
        """Whether so many rows are fewer than all, or may be."""
        return not isinstance(self.rows.extent, int) or rows < self.rows.extent


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
