"""Loop IR: statements over buffers, lowering of schedules, phases, printing and interpretation."""

from __future__ import annotations

from .bound import Domain, infer_bound
from .interpret import interpret
from .lower import lower
from .phases import PHASES, run_phases
from .printer import stmt_text, to_text
from .stmt import (
    Allocate,
    Block,
    Buffer,
    For,
    ForKind,
    HorizontalReduce,
    If,
    LetStmt,
    Load,
    Prefetch,
    PrimFunc,
    Ramp,
    Splat,
    Stmt,
    Store,
)

__all__ = [
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
    "Prefetch",
    "PrimFunc",
    "Ramp",
    "Splat",
    "Stmt",
    "Store",
    "infer_bound",
    "interpret",
    "lower",
    "run_phases",
    "stmt_text",
    "to_text",
]
