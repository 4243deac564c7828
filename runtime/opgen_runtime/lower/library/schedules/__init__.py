"""The library of schedules: functions of the outputs and the target.

`generic` is the schedule of any program: REWRITES and RULES, tried in order.

rules.py        the rules, in the order in which they are tried
contraction/    sums of products: which panels are packed (packing), rows and vectors in registers (tiles), the loops
                around (nests), long sums (blocking), threads (work_partition), operands that change places
                (interchange)
convolution/    depthwise, by rows or by channels; pooling; weight gradients; GEMM and col2im; residue decomposition
rows/           loops of outputs with what they read computed inside (rows), reductions, scans
elementwise.py  loops of stages without reduce axes
common/         what a rule is (rule); how a body goes through memory, and what it costs (access); what to inline,
                what to store, and where (plan); which stages are contractions (products); prefetches; parameters for
                tuning
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base import Target
from ....compute.te.tensor import Tensor
from ...schedule import Schedule
from .common.parameters import PARAMETERS, RENAMED, Parameter, why_not_tuned
from .common.rule import Rule, Trial, WhyNot, apply_rules, trials_text
from .elementwise import schedule_elementwise
from .rows.rows import why_not_by_rows
from .rules import REWRITES, RULES, generic

ScheduleFunction = Callable[[Sequence[Tensor], Target], Schedule]

__all__ = [
    "PARAMETERS",
    "RENAMED",
    "REWRITES",
    "RULES",
    "Parameter",
    "Rule",
    "ScheduleFunction",
    "Trial",
    "WhyNot",
    "apply_rules",
    "generic",
    "schedule_elementwise",
    "trials_text",
    "why_not_by_rows",
    "why_not_tuned",
]
