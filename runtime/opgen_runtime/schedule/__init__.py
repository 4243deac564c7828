"""Schedules: stages and the primitives that decide how they are computed."""

from __future__ import annotations

from .kind import ForKind
from .schedule import Group, Schedule, create_schedule, reads_of
from .stage import Attach, Fuse, Split, Stage

__all__ = ["Attach", "ForKind", "Fuse", "Group", "Schedule", "Split", "Stage", "create_schedule", "reads_of"]
