"""How the loops of a stage come from its axes."""

from __future__ import annotations

from ...base.vocabulary import dataclass
from ...compute.te.tensor import IterVar


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """parent = outer * factor + inner."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: int


@dataclass(frozen=True, eq=False, slots=True)
class Fuse:
    """fused = outer * extent(inner) + inner."""

    outer: IterVar
    inner: IterVar
    fused: IterVar


Relation = Split | Fuse
