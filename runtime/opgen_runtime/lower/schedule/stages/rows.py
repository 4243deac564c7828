"""Scans, as scheduled: the stages that run in each time step, and the rolling buffers of their tensors.

A row is what one step computes of a tensor; a buffer keeps as many of them as later steps read.

    h[t, i] = f(h[t - 1, i], x[t, i]); out[t, i] = g(h[t, i]); last[i] = h[T - 1, i]
-->
    for step in range(T): h[step % 2, i] = f(h[(step - 1) % 2, i], x[step, i]); out[step, i] = g(h[step % 2, i])
    last[i] = h[(T - 1) % 2, i]

Everything is derived from the positions at which tensors are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Generic, Protocol, TypeVar

from ....base.arith import Analyzer, Const, Expr, Var, post_order
from ....base.vocabulary import INDEX, dataclass
from ....compute.te.tensor import IterVar, Read, Scan, Tensor


class Computed(Protocol):
    """What rows ask of a stage: its tensor, its data axes and what it computes at them."""

    axes: tuple[IterVar, ...]
    body: Expr | None

    @property
    def tensor(self) -> Tensor: ...

    @property
    def is_scheduled(self) -> bool: ...


S = TypeVar("S", bound=Computed)


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The dim of a tensor that is time: step `sign * index + start` computes row `index` along it; sign is 1 or -1."""

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
class Rows(Generic[S]):
    """The steps of a scan.

    `members` run in every step, in order: the states, then the stages that follow them row by row; `closing` ones run
    after the last step.  `lines` tells when each row of a member's tensor is computed.  Of the tensors in `windows`
    only so many rows are kept, and `local` ones are read by members and closing stages alone.  Where `aligned`, each
    member reads the others' rows at its own position of all other dims only, so that the positions are independent.
    """

    step: Var
    extent: int | Expr
    members: list[S]
    lines: dict[Tensor, TimeAxis]
    aligned: bool
    closing: list[S] = field(default_factory=list)
    windows: dict[Tensor, int] = field(default_factory=dict)
    local: set[Tensor] = field(default_factory=set)

    @property
    def separable(self) -> bool:
        """Whether each position runs through all steps by itself; not where the loops of a row are given."""
        return self.aligned and not any(member.is_scheduled for member in self.members)


def rows_of(scan: Scan, members: list[S]) -> Rows[S]:
    """The steps of a scan that is stored whole; `members` are stages of its states."""
    lines: dict[Tensor, TimeAxis] = {}
    for state, stage in zip(scan.states, members, strict=True):
        start = 0 if scan.direction > 0 else scan.extent - 1
        lines[stage.tensor] = TimeAxis(state.scan_axis, scan.direction, start)
    aligned = all(is_aligned(stage, members[0], lines) for stage in members)
    return Rows(Var(INDEX, "step"), scan.extent, members, lines, aligned)


def others(stage: Computed, lines: Mapping[Tensor, TimeAxis]) -> list[IterVar]:
    """The axes of a stage without the one along which it follows a scan."""
    line = lines.get(stage.tensor)
    return [axis for dim, axis in enumerate(stage.axes) if line is None or dim != line.dim]


def is_aligned(stage: Computed, model: Computed, lines: Mapping[Tensor, TimeAxis]) -> bool:
    """Whether a stage has the positions of `model` and reads the rows of a scan at its own position only."""
    own = others(stage, lines)
    if [axis.extent for axis in own] != [axis.extent for axis in others(model, lines)]:
        return False
    at = [axis.var for axis in own]
    return all(
        [index for dim, index in enumerate(read.indices) if dim != lines[read.tensor].dim] == at
        for read in row_reads(stage, lines)
    )


def row_reads(stage: Computed, lines: Mapping[Tensor, TimeAxis]) -> Iterator[Read]:
    """The reads of rows of a scan."""
    assert stage.body is not None
    return (node for node in post_order(stage.body) if isinstance(node, Read) and node.tensor in lines)


def constant(e: Expr) -> int | None:
    """The value of an index that is the same everywhere; None where it is not known to be."""
    found = Analyzer().simplify(e)
    return int(found.value) if isinstance(found, Const) else None
