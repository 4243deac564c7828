"""Whether an index stays inside a tensor in every lane, while loop variables vary."""

from __future__ import annotations

from ....base.arith import Const, Expr
from ....base.arith.relax import Relaxer
from ..nodes.stmt import Ramp, Splat


def is_within(index: Expr, size: int, relaxer: Relaxer) -> bool:
    """Whether 0 <= index < size certainly, in every lane, while each of the relaxer's vars varies."""
    ends = [index]
    if isinstance(index, Ramp):
        if not isinstance(index.stride, Const):
            return False
        ends = [index.base, index.base + int(index.stride.value) * (index.lanes - 1)]
    elif isinstance(index, Splat):
        ends = [index.value]
    for end in ends:
        found = relaxer.range(end)
        if found is None or found[0] or found[1] < 0 or found[1] + found[2] > size:
            return False
    return True
