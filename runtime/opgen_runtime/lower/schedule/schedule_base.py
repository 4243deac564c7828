"""The stages of a schedule, and where they stand; the primitives are in schedule.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from ...base.arith import Expr
from ...base.errors import ScheduleError
from ...compute.te.tensor import Compute, Scan, Tensor
from .rewriting.inline import Folder
from .stages.specialisation import Specialisation
from .stages.stage import Stage
from .stages.trace import Trace
from .text import to_text


class ScheduleBase:
    """How a program of tensor expressions is computed.  `schedule[tensor]` is the stage of a tensor.

    `str` shows every stage with its loops, where it is computed and what it computes (see text.py).
    """

    def __init__(self, outputs: Sequence[Tensor]) -> None:
        self.outputs = tuple(outputs)
        self.stages: list[Stage] = []
        self._of: dict[Tensor, Stage] = {}
        self.trace: Final = Trace(self.__getitem__)
        self.specialisations: Final[
            list[Specialisation]
        ] = []  # where another schedule of the program is better
        for tensor in _producers_first(self.outputs):
            if tensor not in self._of:
                self._add(Stage(_tensors_of(tensor), tensor.op), len(self.stages))
        for tensor in self.outputs:
            if not self[tensor].is_placeholder:
                self[tensor].is_output = True

    def __repr__(self) -> str:
        return f"Schedule({', '.join(tensor.name for tensor in self.outputs)})"

    def __str__(self) -> str:
        return to_text(self.stages)

    def _add(self, stage: Stage, position: int) -> None:
        self.stages.insert(position, stage)
        for each in (stage, *(stage.rows.members if stage.rows else ())):
            if each.trace is None:  # else it is part of another schedule, too
                each.trace = self.trace
                self.trace.made.append(each)
        for tensor in stage.tensors:
            self._of[tensor] = stage
        if isinstance(stage.op, Scan):
            for state in stage.op.states:
                if state.rule is not None and state.tensor is not None:
                    self._of.setdefault(state.rule, stage.member_of(state.tensor))

    def part(self, stages: Sequence[Stage], outputs: Sequence[Tensor]) -> Self:
        """A schedule of some of these stages, or of others for their tensors, producers first."""
        made = type(self)(())
        made.outputs = tuple(outputs)
        for stage in stages:
            made._add(stage, len(made.stages))
        return made

    def __getitem__(self, tensor: Tensor) -> Stage:
        """The stage of a tensor; of a rule of a scan, the stage of the rows that it gives.

        Raises ScheduleError for a tensor that the program does not use.
        """
        found = self._of.get(tensor)
        if found is None:
            known = ", ".join(stage.name for stage in self.stages)
            raise ScheduleError(f"tensor {tensor.name} is not part of this schedule; its stages are {known}")
        return found

    def fold_inlined(self) -> None:
        """`normalize` as a part of something else, which is no step of the trace."""
        inlined = {s.tensor: (s.axes, s.body) for s in self.stages if s.inlined and s.body is not None}
        if not inlined:
            return
        for stage in self.stages:
            if stage.body is None and (missing := [t.name for t in stage.op.inputs() if t in inlined]):
                kind = type(stage.op).__name__.lower()
                raise ScheduleError(
                    f"stage {missing[0]} is inlined, but the {kind} {stage.name} reads it from a buffer"
                )
        folder = Folder(inlined)
        for stage in self.stages:
            if stage.body is not None and not stage.inlined:
                stage.body = folder.fold(stage.body)

    def _insert(self, tensor: Tensor, scope: str, position: int, origin: str) -> None:
        stage = Stage((tensor,), tensor.op, origin)
        stage.set_scope(scope)
        self._add(stage, position)

    def _fresh(self, tensor: Tensor, use: str) -> Stage:
        stage = self[tensor]
        stage.require_whole(use)
        self._require_unscheduled(stage, use)
        return stage

    def _require_unscheduled(self, stage: Stage, use: str) -> None:
        stage.require_loops(use)
        if stage.relations or stage.kinds or stage.tile_of:
            raise ScheduleError(f"{use} on stage {stage.name}: its loops are scheduled already; do it first")

    def _repacked(self, stage: Stage, made: Tensor, body: Expr, what: str) -> Tensor:
        """`made` takes over what a stage computes, which reads it."""
        self._add(Stage((made,), made.op, f"{what} of {stage.name}"), self.stages.index(stage))
        stage.set_compute(stage.axes, body)
        return made


def reads_of(stage: Stage) -> tuple[Tensor, ...]:
    """The tensors that a stage reads."""
    if stage.body is not None:
        return Compute(stage.axes, stage.body).inputs()
    if stage.rows is None:
        return stage.op.inputs()
    own = [member for member in stage.rows.members if member.tensor in stage.tensors]
    read = dict.fromkeys(tensor for member in own for tensor in reads_of(member))
    return tuple([tensor for tensor in read if tensor not in stage.tensors])


def _tensors_of(tensor: Tensor) -> tuple[Tensor, ...]:
    """The tensors that are computed together with `tensor`."""
    if isinstance(tensor.op, Scan):
        return tuple(state.tensor for state in tensor.op.states if state.tensor is not None)
    return (tensor,)


def _producers_first(outputs: Sequence[Tensor]) -> list[Tensor]:
    order: list[Tensor] = []
    seen: set[Tensor] = set()
    stack: list[tuple[Tensor, bool]] = [(t, False) for t in reversed(outputs)]
    while stack:
        tensor, ready = stack.pop()
        if ready:
            order.append(tensor)
        elif tensor not in seen:
            seen.add(tensor)
            stack.append((tensor, True))
            stack.extend([(t, False) for t in reversed(tensor.op.inputs()) if t not in seen])
    return order
