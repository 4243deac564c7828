"""Loop IR: statements over buffers, lowering of schedules, phases, printing and interpretation.

stmt.py          the nodes
visit.py         walks over statements                     folding.py, substitution.py, relocate.py: over expressions
canonical.py     index arithmetic and conditions
region.py        ranges of indices while some loops vary
bound.py         infer_bound: what part of every stage is computed where it stands
choice.py        one kernel of several, by conditions on dims
lower.py         schedules to loop IR: stages in their loops
nest.py          building blocks of loop nests
values.py        tensor reads to loads; reductions inside expressions to loops
line_prefetch.py         prefetches of lines that a later tile needs
reduction.py     reduction stages: accumulators, tiles of them, vectors of them
linear.py, open_partition.py: where loops are split, by guards
combine.py       what a reduction is: identity, joining, positions
tensorize.py     tiles that intrinsics compute
scan.py          scans: rows one after the other, and what follows them
positions.py     scans whose steps run inside the loop over positions
update.py        updates
stream_compaction.py     stream compaction; compaction_loops.py: with the count in a register, in vectors;
                 limited.py: nests of rows that callers see a part of
vector.py        expressions of vectors
phases/          one file each: from lowered loop IR to what code generation takes
contract.py      what loop IR must be as it is lowered, and as code generation takes it
written.py       loop IR as people write it
interpret.py     the oracle of tests
"""

from __future__ import annotations

from ..schedule import Domain
from .interpretation.interpret import interpret
from .lowering.bound import infer_bound
from .lowering.choice import alike, chosen
from .lowering.lower import dims_of, lower
from .nodes.contract import LOWERED, View, check
from .nodes.stmt import (
    Allocate,
    Block,
    Buffer,
    For,
    ForKind,
    HorizontalReduce,
    If,
    LetStmt,
    Load,
    Packed,
    Prefetch,
    PrimFunc,
    Ramp,
    Seen,
    Splat,
    Stmt,
    Store,
    stmt_text,
    to_text,
)
from .nodes.visit import block
from .nodes.written import load, local, loop, store
from .phases import FINAL, PHASES, Phase, PhaseRow, hooked, run_phases

__all__ = [
    "FINAL",
    "LOWERED",
    "PHASES",
    "Allocate",
    "Block",
    "Buffer",
    "Domain",
    "For",
    "ForKind",
    "HorizontalReduce",
    "If",
    "LetStmt",
    "Load",
    "Packed",
    "Phase",
    "PhaseRow",
    "Prefetch",
    "PrimFunc",
    "Ramp",
    "Seen",
    "Splat",
    "Stmt",
    "Store",
    "View",
    "alike",
    "block",
    "check",
    "chosen",
    "dims_of",
    "hooked",
    "infer_bound",
    "interpret",
    "load",
    "local",
    "loop",
    "lower",
    "run_phases",
    "stmt_text",
    "store",
    "to_text",
]
