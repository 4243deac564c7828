"""What of a schedule can be computed once and for all: the stages that depend on constant inputs alone.

P[k, j] = W[j, k]; C[i, j] = sum(X[i, k] * P[k, j])      W is constant

precompute P[k, j] = W[j, k]
main      C[i, j] = sum(X[i, k] * P[k, j])               P is an input
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...base.arith import free_vars
from ...base.vocabulary import dataclass
from ...compute.te.tensor import Compute, Placeholder, Tensor
from .schedule import Schedule
from .schedule_base import reads_of
from .stages.stage import Stage


@dataclass(frozen=True, slots=True)
class Parts:
    """`precompute` computes the tensors `precomputed`, which are inputs of `main`; nothing is precomputed where it
    is None.
    """

    main: Schedule
    precompute: Schedule | None
    precomputed: tuple[Tensor, ...]


def constant_stages(schedule: Schedule) -> dict[Stage, frozenset[Tensor]]:
    """The stages that depend on constants alone, and on no symbolic dim, each with the inputs that it is made of.

    A tensor that is much larger than what it is made of is none: memory costs more than computing it again.
    """
    most = 2.5  # times the bytes of the constants: twice, and what fills panels
    found: dict[Stage, frozenset[Tensor]] = {
        stage: frozenset(stage.tensors)
        for stage in schedule.stages
        if isinstance(stage.op, Placeholder) and stage.op.is_constant
    }
    for stage in schedule.stages if found else ():
        if not isinstance(stage.op, Compute) or stage.is_output or stage.follows is not None:
            continue
        sources = [schedule[tensor] for tensor in reads_of(stage)]
        if sources and all(source in found for source in sources) and not _asks_sizes(stage):
            made_of = frozenset().union(*[found[source] for source in sources])
            if _bytes(stage.tensor) <= most * sum(_bytes(tensor) for tensor in made_of):
                found[stage] = made_of
    return found


def parts_of(schedule: Schedule) -> Parts:
    """The schedule in two, which share its stages.

    Precomputed are stages at the root, with what is computed inside them; constants that a schedule computes inside the
    loops of others, or folds into them, stay there.
    """
    schedule.fold_inlined()
    constant = constant_stages(schedule)
    stays: set[Stage] = set()
    for stage in schedule.stages:  # producers first
        if stage.is_placeholder or stage.inlined:
            continue
        if not _is_rooted(stage, constant) or any(schedule[tensor] in stays for tensor in reads_of(stage)):
            stays.add(stage)
    alive = [stage for stage in schedule.stages if not stage.inlined]
    moved = {stage for stage in alive if stage not in stays and not stage.is_placeholder}
    if not moved:
        return Parts(schedule, None, ())
    needed = dict.fromkeys(tensor for stage in alive if stage in stays for tensor in reads_of(stage))
    needed.update(dict.fromkeys(schedule.outputs))
    precomputed = tuple([tensor for tensor in needed if schedule[tensor] in moved])
    given = [Stage((tensor,), Placeholder(is_constant=True)) for tensor in precomputed]
    read = {schedule[tensor] for stage in moved for tensor in reads_of(stage)}
    rest = [stage for stage in alive if stage in stays or (stage.is_placeholder and stage.tensor in needed)]
    return Parts(
        schedule.part([*given, *rest], schedule.outputs),
        schedule.part([stage for stage in alive if stage in moved or stage in read], precomputed),
        precomputed,
    )


def _is_rooted(stage: Stage, constant: Mapping[Stage, object]) -> bool:
    """Whether a stage is constant, and so are all in whose loops it is computed."""
    while stage in constant and stage.attach is not None:
        stage = stage.attach.stage
    return stage in constant


def _asks_sizes(stage: Stage) -> bool:
    """Whether elements depend on symbolic dims, which are known when the program runs."""
    bodies = [] if stage.body is None else [stage.body]
    if stage.body is None and isinstance(stage.op, Compute):
        bodies.append(stage.op.body)
    return any(var.size for body in bodies for var in free_vars(body))


def _bytes(tensor: Tensor) -> float:
    """The bytes of a tensor; infinite where a dim is symbolic."""
    dims = [dim for dim in tensor.shape if isinstance(dim, int)]
    return math.prod(dims) * tensor.dtype.itemsize if len(dims) == len(tensor.shape) else math.inf
