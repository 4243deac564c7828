"""Schedules: stages and the primitives that decide how they are computed.

extents.py   extents of loops
relations.py how the loops of a stage come from its axes
domain.py    the ranges of loops, axes in terms of them
kind.py      how the iterations of a loop run
intrinsic.py tiles whose loop IR is written by hand
matching.py  whether a tile of a stage is what an intrinsic computes
stage.py     one stage, and the primitives that change it alone; stage_base.py: what is known of it
schedule.py  the primitives that add stages (caches, rfactor, groups); schedule_base.py: all stages of a program
narrowing.py values of dims for which another schedule is better
group.py     stages that are placed together
partials.py  what rfactor makes a stage of
repack.py    what flatten, permute, divide and pack make of a stage
cover.py     an operand of a stage, once for each position that is read
congruence.py conditions that hold in every s-th step: the steps in which they do
slopes.py    how indices move with variables
separate.py  what separate makes of a reduction over windows
scatter.py   what scatter makes of a sum of products over windows
rows.py      the steps of a scan: what runs in each, how many rows are kept
roll.py      which stages follow a scan row by row
prepare.py   the stages that depend on constants alone, split off
inline.py    folds inlined stages into the bodies that read them
contract.py  what a schedule must be before it is lowered
trace.py     the primitives that made a schedule, as text that can be replayed
text.py      a schedule as text: stages, tables of loops, what is computed inside them
"""

from __future__ import annotations

from .congruence import congruences, pushed, simplified
from .contract import SCHEDULE, schedule_by
from .cover import positions
from .domain import Domain, is_taken_apart, spread
from .group import Group
from .intrinsic import Intrinsic
from .kind import ForKind
from .matching import Match, Place, match
from .narrowing import Narrowing, narrowing
from .prepare import Parts, constant_stages, parts_of
from .relations import Fuse, Split
from .repack import divided, permuted
from .rows import Line, Rows
from .scatter import Windows, windows_of
from .schedule import Schedule, create_schedule, replay
from .schedule_base import reads_of
from .separate import why_not_separable
from .slopes import slope
from .stage import Stage
from .stage_base import Attach
from .trace import Trace

__all__ = [
    "SCHEDULE",
    "Attach",
    "Domain",
    "ForKind",
    "Fuse",
    "Group",
    "Intrinsic",
    "Line",
    "Match",
    "Narrowing",
    "Parts",
    "Place",
    "Rows",
    "Schedule",
    "Split",
    "Stage",
    "Trace",
    "Windows",
    "congruences",
    "constant_stages",
    "create_schedule",
    "divided",
    "is_taken_apart",
    "match",
    "narrowing",
    "parts_of",
    "permuted",
    "positions",
    "pushed",
    "reads_of",
    "replay",
    "schedule_by",
    "simplified",
    "slope",
    "spread",
    "why_not_separable",
    "windows_of",
]
