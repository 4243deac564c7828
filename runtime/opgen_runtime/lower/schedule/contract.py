"""What a schedule must be before it is lowered; those that users' functions give are held to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...base.arith import Expr, Var, identical, post_order, structural_equal
from ...base.contract import Contract, Rule, When, handed_in, is_own
from ...base.errors import ScheduleError
from ...base.vocabulary import dataclass
from ...compute.te.tensor import IterVar, Reduce, Tensor
from .schedule import Schedule
from .schedule_base import reads_of
from .stages.extents import ceil_div, product
from .stages.kind import ForKind
from .stages.relations import Fuse, Split
from .stages.stage import Stage

ScheduleFunction = Callable[..., object]  # of the outputs, and of what else a schedule depends on


@dataclass(frozen=True, slots=True)
class Made:
    """A schedule, and the outputs that it was to be for."""

    schedule: Schedule
    outputs: tuple[Tensor, ...]


def schedule_by(
    function: ScheduleFunction, what: str, outputs: Sequence[Tensor], *situation: object
) -> Schedule:
    """The schedule that a function gives for `outputs`; `what` names the op and the function.

    Raises ScheduleError for what is no schedule or breaks a rule, and for whatever a user's function raises.
    """
    if is_own(function):
        made = function(outputs, *situation)
    else:
        with handed_in(what, ScheduleError):
            made = function(outputs, *situation)
    if not isinstance(made, Schedule):
        raise ScheduleError(f"{what} gave {made!r:.80}, expected a Schedule")
    SCHEDULE.check(Made(made, tuple(outputs)), what, is_own(function))
    return made


def _why_not_outputs(made: Made) -> str | None:
    given, found = made.outputs, made.schedule.outputs
    if identical(given, found):
        return None
    wanted = ", ".join(tensor.name for tensor in given)
    return f"its outputs are {', '.join(t.name for t in found) or 'none'}, expected the given ones: {wanted}"


def _why_not_stages(made: Made) -> str | None:
    """Every stage is one of the schedule's own; what one reads has a stage before it."""
    schedule = made.schedule
    known: set[Tensor] = set()
    for stage in schedule.stages:
        if not isinstance(stage, Stage):
            return f"{stage!r:.80} is among its stages"
        if any(schedule._of.get(tensor) is not stage for tensor in stage.tensors):
            return f"stage {stage.name} is not of this schedule"
        for name in ("axes", "reduce_axes", "leaves"):
            axes = getattr(stage, name)
            if not isinstance(axes, tuple | list) or not all(isinstance(axis, IterVar) for axis in axes):
                return f"stage {stage.name} has the {name} {axes!r:.80}, expected axes"
        known.update(stage.tensors)
        for tensor in reads_of(stage):
            if tensor not in known:
                return f"stage {stage.name} reads {tensor.name}, which no stage before it computes"
    missing = [tensor.name for tensor in made.outputs if tensor not in known]
    return f"no stage computes {missing[0]}" if missing else None


def _why_not_relations(made: Made) -> str | None:
    """The loops of a stage are its axes with the splits and fusions applied, each once."""
    for stage in made.schedule.stages:
        loops = list(map(id, (*stage.loop_axes, *stage.reduce_axes)))
        for relation in stage.relations:
            old = (relation.parent,) if isinstance(relation, Split) else (relation.outer, relation.inner)
            new = (relation.outer, relation.inner) if isinstance(relation, Split) else (relation.fused,)
            for axis in old:
                if id(axis) not in loops:
                    return f"stage {stage.name}: {axis.var.name} is split or fused, but is no loop of it"
                loops.remove(id(axis))
            loops.extend(map(id, new))
            if not _covers(relation):
                return f"stage {stage.name}: {_text(relation)} does not cover its iterations"
        if sorted(loops) != sorted(map(id, stage.leaves)):
            found = ", ".join(axis.var.name for axis in stage.leaves) or "none"
            return f"stage {stage.name}: its loops are {found}, which do not cover its axes each once"
    return None


def _covers(relation: Split | Fuse) -> bool:
    if isinstance(relation, Fuse):
        return _same(relation.fused.extent, product(relation.outer.extent, relation.inner.extent))
    factor = relation.factor
    return (
        type(factor) is int
        and factor >= 1
        and _same(relation.inner.extent, factor)
        and _same(relation.outer.extent, ceil_div(relation.parent.extent, factor))
    )


def _why_not_kinds(made: Made) -> str | None:
    for stage in made.schedule.stages:
        for axis, kind in stage.kinds.items():
            if not isinstance(kind, ForKind):
                return f"stage {stage.name}: {axis.var.name} runs as {kind!r:.80}, expected a ForKind"
            constant = isinstance(axis.extent, int)
            if not constant and kind in (ForKind.VECTORIZED, ForKind.UNROLLED, ForKind.VIRTUAL):
                return f"stage {stage.name}: {axis.var.name} is {kind.value}, but has no constant extent"
            if axis.kind == "reduce" and kind in (ForKind.PARALLEL, ForKind.VIRTUAL):
                return f"stage {stage.name}: {axis.var.name} is {kind.value}, but reduces"
    return None


def _why_not_attached(made: Made) -> str | None:
    stages = {id(stage) for stage in made.schedule.stages}
    for stage in made.schedule.stages:
        if stage.attach is None or stage.inlined:
            continue
        parent, axis = stage.attach.stage, stage.attach.axis
        where = f"stage {stage.name} is computed at {axis.var.name} of stage {parent.name}"
        if id(parent) not in stages:
            return f"{where}, which is not of this schedule"
        if not any(leaf is axis for leaf in parent.leaves):
            loops = ", ".join(leaf.var.name for leaf in parent.leaves) or "none"
            return f"{where}, which is no loop of it; its loops are {loops}"
        if stage.is_output:
            return f"{where}, but is an output"
        above: Stage | None = parent
        for _ in stages:
            if above is None:
                break
            if above is stage:
                return f"{where}, inside itself"
            above = above.attach.stage if above.attach else None
    return None


def _why_not_placed(made: Made) -> str | None:
    for stage in made.schedule.stages:
        if stage.inlined and (
            stage.tensor in made.outputs or stage.body is None or isinstance(stage.body, Reduce)
        ):
            return f"stage {stage.name} is inlined, but is an output, a reduction or no compute"
        if stage.scope not in (None, "global", "local", "double"):
            return f"stage {stage.name} has the scope {stage.scope!r:.80}"
        if stage.tile_of is not None and not any(leaf is stage.tile_of.axis for leaf in stage.leaves):
            return (
                f"stage {stage.name} is tensorized at {stage.tile_of.axis.var.name}, which is no loop of it"
            )
        for axis in stage.unroll_steps:
            if not any(leaf is axis for leaf in stage.leaves):
                return f"stage {stage.name} unrolls loops inside of {axis.var.name}, which is no loop of it"
        for prefetch in stage.line_prefetches:
            if not any(leaf is prefetch.axis for leaf in stage.leaves):
                return (
                    f"stage {stage.name} prefetches lines of {prefetch.tensor.name} at {prefetch.axis.var.name}, "
                    "which is no loop of it"
                )
        for tensor, axis, offset in stage.prefetches:
            if not any(leaf is axis for leaf in stage.leaves) or offset < 1:
                return (
                    f"stage {stage.name} prefetches {tensor.name} at {axis.var.name}, which is no loop of it"
                )
    return None


def _why_not_bound(made: Made) -> str | None:
    for stage in made.schedule.stages:
        if stage.body is None:
            continue
        order = post_order(stage.body)
        bound = {axis.var for axis in (*stage.axes, *stage.reduce_axes)}
        bound.update(axis.var for node in order if isinstance(node, Reduce) for axis in node.axes)
        for node in order:
            if isinstance(node, Var) and node not in bound and not node.size:
                return f"stage {stage.name} uses the variable {node.name}, which no axis of it binds"
    return None


def _text(relation: Split | Fuse) -> str:
    if isinstance(relation, Split):
        parts = f"{relation.outer.var.name} and {relation.inner.var.name}"
        return f"the split of {relation.parent.var.name} in {parts} by {relation.factor}"
    return f"the fusion of {relation.outer.var.name} and {relation.inner.var.name}"


def _same(a: int | Expr, b: int | Expr) -> bool:
    if isinstance(a, Expr) and isinstance(b, Expr):
        return structural_equal(a, b)
    return not isinstance(a, Expr) and not isinstance(b, Expr) and a == b


SCHEDULE: Final = Contract(
    "schedules",
    ScheduleError,
    When.TESTS,
    (
        Rule("the outputs are the function's", _why_not_outputs),
        Rule("stages are its own, producers first", _why_not_stages),
        Rule("loops cover the axes", _why_not_relations),
        Rule("loops run as they can", _why_not_kinds),
        Rule("attach points exist", _why_not_attached),
        Rule("places are possible", _why_not_placed),
        Rule("bodies have no free variable", _why_not_bound),
    ),
)
