"""What is known of a stage; its primitives are in stage.py."""

from __future__ import annotations

from typing import Generic, Self, TypeVar

from ....base.arith import Expr
from ....base.errors import ScheduleError
from ....base.vocabulary import dataclass
from ....compute.te.tensor import Compute, IterVar, Operation, Placeholder, Reduce, Scan, Tensor
from .extents import is_schedulable
from .intrinsic import Intrinsic
from .kind import ForKind
from .line_prefetch import LinePrefetch
from .relations import Fuse, Relation
from .rows import Rows, TimeAxis, others, rows_of
from .trace import Trace

S = TypeVar("S")


@dataclass(frozen=True, eq=False, slots=True)
class Attach(Generic[S]):
    """The stage is computed inside the loop over `axis` of `stage`."""

    stage: S
    axis: IterVar


@dataclass(frozen=True, eq=False, slots=True)
class Tile:
    """The loops from `axis` inwards are what `intrinsic` computes."""

    axis: IterVar
    intrinsic: Intrinsic


class StageBase:
    """How one operation is computed.

    `axes` are the data axes of the result, `reduce_axes` those of a body whose root is a `Reduce` with extents
    that do not depend on elements or other axes.  `leaves` are the loops, outermost first.  The stage's `body`
    is the schedule's own copy: cache_write and rfactor rewrite it, the tensor stays.  `origin` tells which primitive
    made the stage; it is empty for those of the program.  The stage of a scan has `rows`, with a stage for each state;
    a stage that runs in the steps of a scan, or right after the last one, `follows` those rows.  `rule`: the name of
    the rule of the library that has made its loops.
    """

    def __init__(self, tensors: tuple[Tensor, ...], op: Operation, origin: str = "") -> None:
        self.tensors = tensors
        self.op = op
        self.origin = origin
        self.axes: tuple[IterVar, ...] = ()
        self.reduce_axes: tuple[IterVar, ...] = ()
        self.body: Expr | None = None
        self.relations: list[Relation] = []
        self.leaves: list[IterVar] = []
        self.kinds: dict[IterVar, ForKind] = {}
        self.tile_of: Tile | None = None
        self.attach: Attach[Self] | None = None
        self.inlined = False
        self.is_output = False
        self.scope: str | None = None
        self.prefetches: list[tuple[Tensor, IterVar, int]] = []
        self.line_prefetches: list[LinePrefetch] = []
        self.unroll_steps: dict[IterVar, int] = {}
        self.alignment: dict[int, tuple[int, int]] = {}
        self.follows: Rows[Self] | None = None
        self.rows: Rows[Self] | None = None
        self.rule: str | None = None
        self.trace: Trace | None = None  # of the schedule that it is part of
        if isinstance(op, Compute):
            self.set_compute(op.axes, op.body)
        elif isinstance(op, Scan):
            self.rows = self._rows_of(op)  # type: ignore[assignment]  # mypy knows Self in signatures alone

    def __repr__(self) -> str:
        return f"Stage({self.name})"

    @property
    def tensor(self) -> Tensor:
        return self.tensors[0]

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def line(self) -> TimeAxis | None:
        """When the rows of the stage are computed, where a scan drives one of its axes."""
        return None if self.follows is None else self.follows.lines.get(self.tensor)

    @property
    def loop_axes(self) -> tuple[IterVar, ...]:
        """The data axes whose loops are the stage's own: all but one that a scan drives."""
        return self.axes if self.follows is None else tuple(others(self, self.follows.lines))

    def follow(self, rows: Rows[Self]) -> None:
        """The stage runs in the steps of a scan: the loop over its rows is the scan's."""
        self.follows = rows
        driven = set(self.axes).difference(self.loop_axes)
        self.leaves = [leaf for leaf in self.leaves if leaf not in driven]

    @property
    def is_scheduled(self) -> bool:
        """Whether its loops are other than those of its axes as they stand."""
        return bool(self.relations or self.kinds or self.tile_of) or self.leaves != [
            *self.loop_axes,
            *self.reduce_axes,
        ]

    def member_of(self, state: Tensor) -> Self:
        """The stage of a state of this scan."""
        assert self.rows is not None
        return next(member for member in self.rows.members if member.tensor is state)

    @property
    def is_placeholder(self) -> bool:
        return isinstance(self.op, Placeholder)

    def set_compute(self, axes: tuple[IterVar, ...], body: Expr) -> None:
        """Start again from `axes` and `body`; the loops so far are dropped."""
        self.axes, self.body = axes, body
        self.reduce_axes = body.axes if isinstance(body, Reduce) and is_schedulable(body) else ()
        self.relations, self.leaves, self.kinds = [], [*axes, *self.reduce_axes], {}
        self.tile_of = None

    def _rows_of(self, scan: Scan) -> Rows[Self]:
        members: list[Self] = []
        for state in scan.states:
            assert state.tensor is not None
            assert state.body is not None
            members.append(type(self)((state.tensor,), Compute(state.axes, state.body), "state"))
        rows = rows_of(scan, members)
        for member in members:
            member.follow(rows)
        return rows

    def leaf(self, axis: IterVar, use: str) -> int:
        """The position of a loop.  Raises ScheduleError where `axis` is not a loop of this stage."""
        for position, leaf in enumerate(self.leaves):
            if leaf is axis:
                if self.tile_of is not None and position >= self.leaves.index(self.tile_of.axis):
                    raise ScheduleError(
                        f"{use} on stage {self.name}: the loop over {axis.var.name} is one of the tile that "
                        f"{self.tile_of.intrinsic.name} computes"
                    )
                return position
        loops = ", ".join(leaf.var.name for leaf in self.leaves) or "none"
        if axis in self.axes and axis not in self.loop_axes:
            raise ScheduleError(f"{use} on stage {self.name}: the loop over {axis.var.name} is the scan's")
        gone = any(
            axis in (r.outer, r.inner) if isinstance(r, Fuse) else axis is r.parent for r in self.relations
        )
        why = "it was split or fused before" if gone else "it belongs to another stage"
        name = axis.var.name if isinstance(axis, IterVar) else repr(axis)
        raise ScheduleError(
            f"{use} on stage {self.name}: axis {name} is not a loop of it ({why}); its loops are {loops}"
        )

    def require_loops(self, use: str) -> None:
        """Raises ScheduleError where the stage has no loops of its own (placeholder, scan, update, extern)."""
        if self.body is None:
            kind = type(self.op).__name__.lower()
            hint = "; its rules have" if self.rows is not None else ""
            raise ScheduleError(f"{use} on stage {self.name}: a {kind} stage has no loops to schedule{hint}")
        if self.inlined:
            raise ScheduleError(f"{use} on stage {self.name}: the stage is inlined, it has no loops")
        if self.follows is not None and (self.follows.local or self.follows.closing):
            raise ScheduleError(
                f"{use} on stage {self.name}: each position runs through the scan by itself "
                "since use_rolling_buffers; do it first"
            )

    def require_whole(self, use: str) -> None:
        """Raises ScheduleError for a stage that is computed row by row, in the steps of a scan."""
        if self.follows is not None:
            leader = self.follows.members[0].name
            raise ScheduleError(
                f"{use} on stage {self.name}: it is computed in the steps of the scan of {leader}"
            )

    def kind(self, axis: IterVar) -> ForKind:
        return self.kinds.get(axis, ForKind.SERIAL)
