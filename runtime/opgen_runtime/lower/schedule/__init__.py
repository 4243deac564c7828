"""Schedules: stages and the primitives that decide how they are computed.

schedule.py        the primitives that add stages (caches, rfactor, groups); schedule_base.py: all stages of a program
stages/            one stage and the primitives that change it alone (stage); how its loops come from its axes
                   (relations, domain), how they run (kind); intrinsics, and which tiles are theirs (matching);
                   specialisation: values of dims for which another schedule is better; the primitives that made a
                   schedule (trace)
rewriting/         what flatten, permute, divide and pack make of a stage (repack), what rfactor does (partials);
                   operand staging; residue conditions, which hold in every s-th step; separable reductions; GEMM and
                   col2im; rolling buffers: which stages follow a scan row by row; inlined stages (inline);
                   bodies simplified once while a schedule is made (simplifying)
precomputation.py  the stages that depend on constants alone
contract.py        what a schedule must be before it is lowered
replaying.py       traces as text that can be replayed
text.py            a schedule as text: stages, tables of loops, what is computed inside them
"""

from __future__ import annotations

from .contract import SCHEDULE, schedule_by
from .precomputation import Parts, constant_stages, parts_of
from .rewriting.gemm_col2im import WindowedProducts, windowed_products_of
from .rewriting.operand_staging import positions
from .rewriting.repack import divided, permuted
from .rewriting.residues import pushed, residue_conditions, simplified
from .rewriting.separable_reduction import why_not_separable
from .rewriting.simplifying import simplified_once, simplified_over
from .schedule import Schedule, create_schedule, replay
from .schedule_base import reads_of
from .stages.domain import Domain, is_taken_apart, spread
from .stages.group import Group
from .stages.intrinsic import Intrinsic
from .stages.kind import ForKind
from .stages.matching import Match, Place, match
from .stages.relations import Fuse, Split
from .stages.rows import Rows, TimeAxis
from .stages.slopes import slope
from .stages.specialisation import Specialisation, specialisation
from .stages.stage import Stage
from .stages.stage_base import Attach
from .stages.trace import Trace

__all__ = [
    "SCHEDULE",
    "Attach",
    "Domain",
    "ForKind",
    "Fuse",
    "Group",
    "Intrinsic",
    "Match",
    "Parts",
    "Place",
    "Rows",
    "Schedule",
    "Specialisation",
    "Split",
    "Stage",
    "TimeAxis",
    "Trace",
    "WindowedProducts",
    "constant_stages",
    "create_schedule",
    "divided",
    "is_taken_apart",
    "match",
    "parts_of",
    "permuted",
    "positions",
    "pushed",
    "reads_of",
    "replay",
    "residue_conditions",
    "schedule_by",
    "simplified",
    "simplified_once",
    "simplified_over",
    "slope",
    "specialisation",
    "spread",
    "why_not_separable",
    "windowed_products_of",
]
