"""Scans: few rows kept, what reads them in their steps, and loops for a row where positions depend on each other."""

from __future__ import annotations

from ....base import Target
from ....base.arith import post_order
from ....compute.te.tensor import Reduce
from ...schedule import Schedule, Stage
from .elementwise import schedule_elementwise
from .reductions import schedule_reduction


def schedule_scans(schedule: Schedule, target: Target) -> set[Stage]:
    """Roll every scan and schedule what runs in its steps; returns the stages that follow scans."""
    led: set[Stage] = set()
    for scan in [stage for stage in schedule.stages if stage.rows is not None]:
        schedule.roll(scan.tensor)
        rows = scan.rows
        assert rows is not None
        led.update((*rows.members, *rows.closing))
        if not rows.separable:
            for member in rows.members:
                _schedule_row(member, target)
    return led


def _schedule_row(member: Stage, target: Target) -> None:
    """Loops for one row of a member."""
    body = member.body
    assert body is not None
    if member.reduce_axes:
        schedule_reduction(member, target)
    elif not any(isinstance(node, Reduce) for node in post_order(body)):
        schedule_elementwise(member, target)
