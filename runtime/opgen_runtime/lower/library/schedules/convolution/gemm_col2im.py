"""GEMM and col2im: which sums over windows first multiply all that a position meets, and sum along the windows then.

    C[o, y] = sum(X[c, y - r] * W[c, o, r] for c, r)
-->
    V[o r, i] = sum(X[c, i] * W[c, o, r] for c); C[o, y] = sum(V[o r, y - r] for r)

So no window is packed, which takes each element as often as it is read, and nothing is multiplied where windows reach
beyond X, and filters with their steps are rows of one tile.  V is stored and read again, instead: it pays where few
filters share the windows, and products have many steps; where many windows leave positions out, it does not.
"""

from __future__ import annotations

import math

from .....base import Target
from .....base.arith import Binary, Const, free_vars, post_order
from .....compute.te.tensor import IterVar
from ....schedule import Schedule, Stage, WindowedProducts, residue_conditions, windowed_products_of
from ...heuristics import MAX_UNREAD_PRODUCTS, MIN_EQUAL_SCATTER_GAIN, MIN_SCATTER_GAIN
from ..common.access import likely_extent
from ..common.rule import WhyNot


def match_scattering(schedule: Schedule, stage: Stage, target: Target) -> Stage | WhyNot:
    """A sum over windows for which it pays to multiply first."""
    if stage.follows is not None or not stage.reduce_axes:
        return WhyNot("has no reduce axes of its own")
    found = windowed_products_of(stage)
    if isinstance(found, str):
        return WhyNot(f"is no sum over windows: {found}")
    why_not = _why_not_cheaper(found, likely_extent(stage.axes), target)
    return stage if why_not is None else WhyNot(why_not)


def apply_gemm_col2im(schedule: Schedule, stage: Stage, target: Target) -> tuple[Stage, ...]:
    """Take a sum over windows apart, into products and sums of these."""
    schedule.gemm_col2im(stage.tensor)
    return ()


def _why_not_cheaper(found: WindowedProducts, results: int, target: Target) -> str | None:
    """Why not far less is done, for so many results; None where it is, and lines of the image are lines of products."""
    if len(found.image.indices) - 1 not in found.moving or not results:
        return "has windows that do not move along the lines of the image"
    filters = math.prod([_filters_per_window(found, axis) for axis in found.kept])
    steps, taps = likely_extent(found.summed), likely_extent(found.taps)
    apart = math.prod([each.step for each in residue_conditions(found.body)])
    products = likely_extent(found.kept) * taps * _places(found)
    windows = results * taps // apart
    if windows * MAX_UNREAD_PRODUCTS.value <= products:
        return "has windows that leave out so many positions that most products would not be read"
    better = (MIN_SCATTER_GAIN if windows > products else MIN_EQUAL_SCATTER_GAIN).value
    cycles = target.machine.cycles
    # Cycles, for as many vectors as there are products, and steps of windows.
    scattered = products * (steps + cycles["store_and_load"])
    summed = windows * steps * (1 + cycles["pack_window"] / filters)
    if better * scattered < summed:
        return None
    return f"is no more work with packed windows, of which {filters} filters share each"


def _filters_per_window(found: WindowedProducts, axis: IterVar) -> int:
    """How many filters that are told apart by an axis share the windows: all, those of one group, or one."""
    if axis.var not in free_vars(found.filters):
        return 1
    used = [index for index in found.image.indices if axis.var in free_vars(index)]
    groups = [
        int(node.b.value)
        for node in post_order(found.image)
        if isinstance(node, Binary)
        and node.op == "floordiv"
        and node.a is axis.var
        and isinstance(node.b, Const)
    ]
    return min(groups, default=1) if used else likely_extent([axis])


def _places(found: WindowedProducts) -> int:
    """The positions of the image along its windows."""
    extents = [found.image.tensor.shape[n] for n in found.moving]
    return math.prod([extent for extent in extents if isinstance(extent, int)])
