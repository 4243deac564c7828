"""Loop IR: statements over buffers, lowering of schedules, phases, printing and interpretation.

nodes/           statements (stmt), walks over them (visit), over expressions (folding, relocate); building blocks of
                 loop nests (nest); expressions of vectors (vector); what a reduction is (combine); loop IR as people
                 write it (builder); values for variables of it (substitution); what it must be at either end of the
                 phases (contract)
lowering/        schedules to loop IR: what part of every stage is computed where it stands (bound), stages in their
                 loops (lower), reads and reductions inside expressions (values), reductions, scans, updates, tiles
                 that intrinsics compute (tensorize), kernels that people wrote (kernel_call), also as ops of the
                 graph (kernel_op), one kernel of several, by conditions on dims (choice)
phases/          one file each: from lowered loop IR to what code generation takes
rewriting/       what several phases do: where loops are split, by guards (linear, open_partition); streams compacted
                 with the count in a register (compaction_loops); rows that callers see a part of (limited)
analysis/        index arithmetic and conditions (canonical), ranges of indices (region), whether accesses of
                 kernels that people write stay inside (bounds), work of statements (cost)
interpretation/  the oracle of tests
reading/         loop IR that people write: as text (parser), as Python functions (kernel)
"""

from __future__ import annotations

from ...base.kernel_options import OPTIONS, Options
from ..schedule import Domain
from .analysis.bounds import unproved_accesses
from .interpretation.interpret import interpret
from .lowering.bound import infer_bound
from .lowering.choice import alike, chosen
from .lowering.kernel_call import KernelCall, call
from .lowering.kernel_op import call_kernel as _call_kernel  # noqa: F401  (attached to PrimFunc)
from .lowering.lower import dims_of, lower, schedule_ops
from .nodes import visit
from .nodes.builder import decl_buffer, load, local, loop, store
from .nodes.contract import LOWERED, View, check
from .nodes.stmt import (
    Aligned,
    Allocate,
    Block,
    Buffer,
    CallPacked,
    For,
    ForKind,
    HorizontalReduce,
    If,
    Kind,
    LetStmt,
    Load,
    Outlined,
    Packed,
    Prefetch,
    PrimFunc,
    Ramp,
    Repetition,
    Seen,
    Shuffle,
    Splat,
    Stmt,
    Store,
    TransposedLoad,
)
from .nodes.substitution import specialize, substitute
from .nodes.text import stmt_text, to_text
from .nodes.visit import block
from .phases import FINAL, PHASES, Phase, PhaseRow, hooked, run_phases
from .reading.kernel import kernel
from .reading.parser import parse
from .reading.words import allocate, parallel, unrolled, vectorized

__all__ = [
    "FINAL",
    "LOWERED",
    "OPTIONS",
    "PHASES",
    "Aligned",
    "Allocate",
    "Block",
    "Buffer",
    "CallPacked",
    "Domain",
    "For",
    "ForKind",
    "HorizontalReduce",
    "If",
    "KernelCall",
    "Kind",
    "LetStmt",
    "Load",
    "Options",
    "Outlined",
    "Packed",
    "Phase",
    "PhaseRow",
    "Prefetch",
    "PrimFunc",
    "Ramp",
    "Repetition",
    "Seen",
    "Shuffle",
    "Splat",
    "Stmt",
    "Store",
    "TransposedLoad",
    "View",
    "alike",
    "allocate",
    "block",
    "call",
    "check",
    "chosen",
    "decl_buffer",
    "dims_of",
    "hooked",
    "infer_bound",
    "interpret",
    "kernel",
    "load",
    "local",
    "loop",
    "lower",
    "parallel",
    "parse",
    "run_phases",
    "schedule_ops",
    "specialize",
    "stmt_text",
    "store",
    "substitute",
    "to_text",
    "unproved_accesses",
    "unrolled",
    "vectorized",
    "visit",
]
