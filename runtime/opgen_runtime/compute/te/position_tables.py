"""Positions that are elements of a table, which is computed of nothing but its own positions: their least and greatest.

p[i] = floor((i + 0.5) / 2 - 0.5),  out[i] = x[max(p[i], 0)]  for i from 8 to 15     -->     x at 3 to 8

Machine code may round the table's elements otherwise, so that a position is one more or less.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

import numpy as np

from ...base.arith import Expr, Var, free_vars, post_order
from ...base.lru_cache import LRUCache
from ...base.vocabulary import INDEX
from .evaluation import evaluate
from .graph import tensor_order
from .tensor import Compute, IterVar, Read, Tensor

_MOST_ELEMENTS: Final = 1 << 22
_values: Final[LRUCache[tuple[Expr, np.ndarray]]] = LRUCache(
    256
)  # by the id of the expression, which is kept


def is_of_tables(index: Expr) -> bool:
    """Whether all that an index reads are tables."""
    return all([_is_table(node.tensor) for node in post_order(index) if isinstance(node, Read)])


def positions(index: Expr, spans: Mapping[Var, tuple[int, int]]) -> tuple[int, int] | None:
    """The least value of an index of tables and the one behind the greatest, one more on both sides, where its
    variables lie in spans that begin at 0 at the least; None for what is too large to evaluate.
    """
    used = [var for var in spans if var in free_vars(index)]
    if prod([spans[var][1] for var in used]) > _MOST_ELEMENTS:
        return None
    shape = tuple([spans[var][1] for var in used])
    found = _values.get((id(index), shape))
    if found is None:
        axes = tuple([IterVar(var, n) for var, n in zip(used, shape, strict=True)])
        (made,) = evaluate([Tensor("positions", shape, INDEX, Compute(axes, index))], {})
        found = _values.put((id(index), shape), (index, made))
    part = found[1][tuple([slice(*spans[var]) for var in used])]
    return (int(part.min()) - 1, int(part.max()) + 2) if part.size else None


def _is_table(tensor: Tensor) -> bool:
    return all([isinstance(each.op, Compute) for each in tensor_order([tensor])])
