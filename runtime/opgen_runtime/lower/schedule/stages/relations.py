"""How the loops of a stage come from its axes."""

from __future__ import annotations

from ....base.vocabulary import dataclass
from ....compute.te.tensor import IterVar


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """parent = outer * factor + inner; where it overlaps the one before, min(outer * factor, extent(parent) -
    factor) + inner.
    """

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: int
    overlapping: bool = False

    def has_overlap(self, whole: object) -> bool:
        """Whether the last of the inner loops over so many iterations begins inside the one before."""
        return (
            self.overlapping and isinstance(whole, int) and whole > self.factor and whole % self.factor != 0
        )


@dataclass(frozen=True, eq=False, slots=True)
class Fuse:
    """fused = outer * extent(inner) + inner."""

    outer: IterVar
    inner: IterVar
    fused: IterVar


Relation = Split | Fuse
