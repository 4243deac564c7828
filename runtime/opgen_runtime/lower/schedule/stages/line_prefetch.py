"""Prefetches of cache lines by a loop, for a later tile."""

from __future__ import annotations

from ....base.vocabulary import dataclass
from ....compute.te.tensor import IterVar, Tensor


@dataclass(frozen=True, eq=False, slots=True)
class LinePrefetch:
    """In each iteration of `axis`, hints for what `tensor` is computed of, or for itself, some columns further on.

    The lines are `lines` in number, `step` columns long, and the first of them begins `offset` columns behind the first
    of the tile.  The first tiles of `rows` rows share them out, `each` an iteration.
    """

    tensor: Tensor
    axis: IterVar
    column: IterVar
    row: IterVar
    rows: int
    offset: int
    step: int
    lines: int
    each: int
