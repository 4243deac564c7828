"""The library of schedules: functions of the outputs and the target.

`generic` is the schedule of any program: REWRITES and RULES, tried in order.

rules.py        the rules, in the order in which they are tried
rule.py         what a rule is, and how rules are applied
rows.py         loops of outputs with what they read computed inside them
plan.py         what to inline, what to store, and where stored stages are computed
access.py       how a body goes through memory, and what it costs
elementwise.py  loops of stages without reduce axes
alternatives.py loops of stages that choose, by position, among alternatives of the same elements
reductions.py   loops of reduction stages
nonaffine_staging.py       staging of non-affine operands of reductions
residue_decomposition.py  residue decomposition of sums that count in every s-th step
products.py     which stages are contractions, and what makes them so
depthwise_spatial.py      depthwise convolutions, vectors along rows
depthwise_by_channels.py     and of small planes: channels lie in vectors
weight_gradient.py weight gradients of convolutions
pooling.py      pooling: reductions over overlapping windows
contractions.py loops of sums of products of two operands, one of them packed
blocking.py     and long ones, block by block of the sum
nests.py        the loops around their tiles, and how threads share them
tiles.py        how many rows and vectors of columns are in registers
packing.py      what they copy before they read it
contiguous_rows.py        contiguous rows of results that are columns by themselves, and how far tiles go along them
interchange.py      operand interchange: rows and columns change places
row_strips.py       row strips: stored in parts that fit the second-level cache
prefetching.py        prefetches of what later tiles of contractions read, and later rows
parameters.py   what a target may be tuned to, with the legal values
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
