"""Schedules of whole programs."""

from __future__ import annotations

from collections.abc import Sequence

from ..schedule import Schedule, create_schedule
from ..target import Target
from ..te.tensor import Tensor
from .elementwise import inline_producers, schedule_elementwise


def injective(outputs: Sequence[Tensor], target: Target) -> Schedule:
    """A program without reductions: everything inlined into the outputs, each of which is one linear sweep."""
    return generic(outputs, target)


def reduction(outputs: Sequence[Tensor], target: Target) -> Schedule:
    """A program with reductions."""
    return generic(outputs, target)


def generic(outputs: Sequence[Tensor], target: Target) -> Schedule:
    """Any program."""
    schedule = create_schedule(outputs)
    inline_producers(schedule)
    for stage in schedule.stages:
        if stage.body is not None and not stage.inlined and not stage.reduce_axes:
            schedule_elementwise(stage, target)
    return schedule
