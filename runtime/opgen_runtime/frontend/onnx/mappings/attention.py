"""Attention onto the declared op: heads, caches and every kind of mask as the op's one mask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from ....ir import Expr
from ....operator import Dim, shape_text
from ..element_types import dtype_of
from ..emit import op
from ..errors import ModelError, NotSupported
from ..rules import BODY, Flag, Positive, converts
from ._tools import (
    cast,
    check_rank,
    concatenate,
    dtype,
    extent,
    ndim,
    of_size,
    positions,
    reshape,
    scalar,
    simple,
    sizes,
    transpose,
)

if TYPE_CHECKING:
    from ..convert import NodeView


@converts("Attention", since=23)
def attention(
    q: Expr,
    k: Expr,
    v: Expr,
    mask: Expr | None = None,
    past_key: Expr | None = None,
    past_value: Expr | None = None,
    seen_keys: Expr | None = None,
    *,
    is_causal: Flag = 0,
    kv_num_heads: Positive | None = None,
    left_window_size: int = -1,
    q_num_heads: Positive | None = None,
    qk_matmul_output_mode: Literal[0, 1, 2, 3] = 0,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    node: NodeView,
) -> object:
    """The declared op has no scores as a result, no cap on them, and rounds a half once instead of at each step."""
    if (past_key is None) != (past_value is None) or (past_key is not None and seen_keys is not None):
        raise ModelError("past_key comes with past_value, and not with nonpad_kv_seqlen")
    if not 0 <= softcap < math.inf:
        raise ModelError(f"softcap is {softcap}; expected a number of at least 0, which is no cap")
    kind = dtype(q)
    wider = softmax_precision is not None and dtype_of(softmax_precision).bits > kind.bits
    if softcap or wider or node.has_output(3) or kind.is_storage or dtype(v) != kind:
        return BODY
    flat = ndim(q) == 3
    if flat:
        q, k, v = _heads(q, q_num_heads), _heads(k, kv_num_heads), _heads(v, kv_num_heads)
    if past_key is not None and past_value is not None:
        k, v = concatenate([past_key, k], 2), concatenate([past_value, v], 2)
    for each in (q, k, v):
        check_rank(each, 4, 4)
    (batch, _, rows, _), keys, size = sizes(q), sizes(k)[2], extent(q, 3)
    if seen_keys is not None:
        seen_keys = reshape(seen_keys, (batch, 1, 1, 1))
    # What may be seen: the same for all, or where each row of the batch has keys of its own, by the row.
    before = sizes(past_key)[2] if past_key is not None else 0
    allowed = [] if seen_keys is None else [op.less(positions(keys), seen_keys)]
    windowed = left_window_size >= 0 or right_window_size >= 0
    # How far each key lies behind its query; a cache that is not shown whole ends with the last query.
    behind = op.subtract(op.add(positions(rows, 2), of_size(before)), positions(keys))
    if seen_keys is not None and (is_causal or windowed):
        behind = op.add(behind, op.subtract(seen_keys, of_size(rows)))
    plain = bool(is_causal and isinstance(before, int) and not before and seen_keys is None)
    if is_causal and not plain:
        allowed.append(op.greater_equal(behind, 0))
    if left_window_size >= 0:
        allowed.append(op.less_equal(behind, left_window_size))
    if right_window_size >= 0:
        allowed.append(op.greater_equal(behind, -right_window_size))
    factor = 1.0 / math.sqrt(max(size, 1)) if scale is None else scale
    made = op.attention(q, k, v, _joined(mask, allowed, keys, kind), causal=plain, scale=factor)
    if flat:
        made = transpose(made, (0, 2, 1, 3))
        made = reshape(made, (batch, rows, math.prod(sizes(made)[2:])))
    return (made, k, v)[: node.num_outputs]


def _heads(x: Expr, heads: int | None) -> Expr:
    """(N, L, H * E) as (N, H, L, E)."""
    check_rank(x, 3, 3)
    n, length, _ = sizes(x)
    width = extent(x, 2)
    if not heads or width % heads:
        raise ModelError(f"a tensor of shape {shape_text(sizes(x))} and {heads} heads")
    return transpose(reshape(x, (n, length, heads, width // heads)), (0, 2, 1, 3))


def _joined(mask: Expr | None, allowed: Sequence[Expr], keys: Dim, kind: str) -> Expr | None:
    """One mask: bool, or numbers that are added; None where every key is seen."""
    if mask is not None:
        check_rank(mask, 1, 4)
        mask = mask if dtype(mask).is_bool else cast(mask, kind)
        missing = simple(keys - sizes(mask)[-1])
        if not isinstance(missing, int):  # a mask of one column is for all keys
            raise NotSupported(f"a mask of {sizes(mask)[-1]} columns for {keys} keys")
        if missing > 0:
            widths = (*[0] * (2 * ndim(mask) - 1), missing)
            mask = op.pad(mask, pad_width=widths, pad_value=0 if dtype(mask).is_bool else -np.inf)
    if not allowed:
        return mask
    every = allowed[0]
    for each in allowed[1:]:
        every = op.logical_and(every, each)
    if mask is None:
        return every
    return (
        op.logical_and(every, mask) if dtype(mask).is_bool else op.where(every, mask, scalar(-np.inf, kind))
    )
