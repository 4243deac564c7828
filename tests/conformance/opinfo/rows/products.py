"""Products of matrices and vectors, and what is declared of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy

from opgen_runtime import ops

from ..adapter import adapts, table

np: Any = numpy

table({"matmul": np.matmul, "mm": np.matmul, "bmm": np.matmul, "mv": np.matmul, "dot": np.dot, "vdot": np.vdot,
       "inner": np.inner, "outer": np.outer, "linalg.multi_dot": np.linalg.multi_dot,
       "corrcoef": np.corrcoef})  # fmt: skip
table({"linalg.vecdot": lambda a, b, *, dim=-1: np.linalg.vecdot(a, b, axis=dim)})


@adapts("einsum")
def einsum(operands: Any, equation: str) -> Any:
    return np.einsum(equation, *operands)


def _added(product: Any) -> Any:
    def add(a: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        if np.dtype(a.dtype).kind in "iu":
            beta, alpha = int(beta), int(alpha)
        made = product(x, y)
        made = made if alpha == 1 else made * alpha
        return made + np.zeros_like(a) if beta == 0 else (a if beta == 1 else a * beta) + made

    return add


table({"addmm": _added(np.matmul), "addmv": _added(np.matmul), "addr": _added(np.outer), "baddbmm": _added(np.matmul),
       "addbmm": _added(lambda x, y: np.sum(np.matmul(x, y), axis=0))})  # fmt: skip


@adapts("tensordot")
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    return np.tensordot(a, b, dims)


@adapts("cross")
def cross(a: Any, b: Any, dim: int | None = None) -> Any:
    axis = dim if dim is not None else next(k for k, extent in enumerate(a.shape) if extent == 3)
    return np.cross(a, b, axis=axis)


@adapts("linalg.cross")
def linalg_cross(a: Any, b: Any, *, dim: int = -1) -> Any:
    return np.cross(a, b, axis=dim)


@adapts("linalg.vander")
def vander(a: Any, *, N: int | None = None) -> Any:
    if a.ndim == 1:
        return np.vander(a, N, increasing=True)
    count = N if N is not None else a.shape[-1]
    return np.power(np.reshape(a, (*(a.shape or (1,)), 1)), np.arange(count, dtype=a.dtype))


@adapts("cov")
def cov(a: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    return np.cov(a, ddof=correction, fweights=fweights, aweights=aweights)


@adapts("nn.functional.linear")
def linear(a: Any, weight: Any, bias: Any = None) -> Any:
    made = np.matmul(a, np.transpose(weight))
    return made if bias is None else made + bias


@adapts("nn.functional.bilinear")
def bilinear(a: Any, b: Any, weight: Any, bias: Any = None) -> Any:
    made = np.einsum("...i,oij,...j->...o", a, weight, b)
    return made if bias is None else made + bias


@adapts("nn.functional.scaled_dot_product_attention")
def attention(
    q: Any, k: Any, v: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    if dropout_p:
        raise NotImplementedError("it draws")
    if q.ndim == 3:
        one = (np.expand_dims(each, 0) for each in (q, k, v))
        mask = attn_mask if attn_mask is None or attn_mask.ndim < 3 else np.expand_dims(attn_mask, 0)
        return np.squeeze(ops.attention(*one, mask, causal=is_causal, scale=scale), 0)
    return ops.attention(q, k, v, attn_mask, causal=is_causal, scale=scale)
