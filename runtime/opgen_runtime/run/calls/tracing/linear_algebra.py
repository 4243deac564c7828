"""numpy's decompositions and linear systems: singular matrices give NaN or infinities where numpy raises."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from .... import ops
from ....base.errors import CallError
from .functions import maps
from .operands import element, tensor, to
from .statistics import floats
from .tracer import Tracer

np: Any = numpy  # whose annotations know no tracers


def _matrices(name: str, a: Any, square: bool = True) -> Tracer:
    """Stacks of matrices of float32 or float64. Raises numpy's LinAlgError for other shapes, TypeError for halves."""
    x = floats(a)
    if element(x.dtype).bits < 32:
        raise TypeError(f"array type {x.dtype} is unsupported in linalg")
    if x.ndim < 2:
        raise np.linalg.LinAlgError(
            f"{x.ndim}-dimensional array given to {name}. Array must be at least two-dimensional"
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return x


@maps("linalg.cholesky")
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    x = _matrices("cholesky", a)
    return ops.cholesky(np.swapaxes(x, -1, -2) if upper else x, upper=upper)


@maps("linalg.solve")
def solve(a: Any, b: Any) -> Any:
    x, y = _matrices("solve", a), floats(b)
    dtype = np.result_type(x.dtype, y.dtype)
    is_vector = y.ndim == 1
    y = y[:, None] if is_vector else y
    if y.shape[-2] != x.shape[-1]:
        raise ValueError(f"solve: the right side has {y.shape[-2]} rows, the matrix {x.shape[-1]}")
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    left, right = (np.broadcast_to(to(each, dtype), (*batch, *each.shape[-2:])) for each in (x, y))
    found: Any = ops.solve(left, right)
    return found[..., 0] if is_vector else found


@maps("linalg.inv")
def inv(a: Any) -> Any:
    return ops.inv(_matrices("inv", a))


@maps("linalg.det")
def det(a: Any) -> Any:
    return ops.det(_matrices("det", a))


@maps("linalg.slogdet")
def slogdet(a: Any) -> Any:
    return tuple(ops.slogdet(_matrices("slogdet", a)))


@maps("linalg.qr")
def qr(a: Any, mode: str = "reduced") -> Any:
    x: Any = _matrices("qr", a, square=False)
    rows, columns = x.shape[-2:]
    if mode not in ("reduced", "r") and not (mode == "complete" and rows <= columns):
        raise CallError(
            "np.linalg.qr while a function is traced takes the modes reduced and r, and complete where no column is "
            f"added; found {mode!r} of {rows} x {columns}"
        )
    q, r = ops.qr(x)
    return r if mode == "r" else (q, r)


@maps("linalg.cond")
def cond(x: Any, p: Any = None) -> Any:
    if p is None or p in (2, -2):
        values: Any = svdvals(x)
        first, last = values[..., 0], values[..., -1]
        return last / first if p == -2 else first / last
    a = _matrices("cond", x)
    norms = [np.linalg.norm(each, p, axis=(-2, -1)) for each in (a, ops.inv(a))]
    return norms[0] * norms[1]


@maps("linalg.eigh")
def eigh(a: Any, UPLO: str = "L") -> Any:
    return tuple(ops.eigh(_symmetric(_matrices("eigh", a), UPLO.upper() == "L")))


def _symmetric(x: Any, lower: bool) -> Any:
    """The symmetric matrices of a triangle."""
    transposed = np.swapaxes(x, -1, -2)
    return np.where(np.tri(x.shape[-1], dtype=bool), *((x, transposed) if lower else (transposed, x)))


@maps("linalg.eigvalsh")
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    return eigh(a, UPLO)[0]


@maps("linalg.svd")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    x = _matrices("svd", a, square=False)
    if full_matrices and compute_uv and x.shape[-1] != x.shape[-2]:
        raise CallError(
            "np.linalg.svd while a function is traced gives as many vectors as there are singular values: write "
            f"full_matrices=False for matrices of {x.shape[-2]} x {x.shape[-1]}"
        )
    found = tuple(ops.svd(x))
    return found if compute_uv else found[1]


@maps("linalg.svdvals")
def svdvals(x: Any, /) -> Any:
    return svd(x, compute_uv=False)


@maps("linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = 1e-15) -> Any:
    x = _matrices("pinv", a, square=hermitian)
    u, s, vh = svd(_symmetric(x, True) if hermitian else x, full_matrices=False)
    counts = s > _cut(x, s, rtol if rcond is None else rcond)
    inverse = np.where(counts, 1 / np.where(counts, s, 1), 0)
    return np.matmul(np.swapaxes(vh, -1, -2) * inverse[..., None, :], np.swapaxes(u, -1, -2))


@maps("linalg.matrix_rank")
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if tensor(A).ndim < 2:
        return np.astype(np.any(np.not_equal(A, 0)), np.int64)
    x = _matrices("matrix_rank", A, square=hermitian)
    s = svdvals(_symmetric(x, True) if hermitian else x)
    return np.count_nonzero(s > (_cut(x, s, rtol) if tol is None else tensor(tol)[..., None]), axis=-1)


def _cut(x: Tracer, s: Any, share: Any) -> Any:
    """The singular value that counts as 0: a share of the greatest, by default eps times the greater extent."""
    share = max(x.shape[-2:]) * float(np.finfo(x.dtype).eps) if share is None else tensor(share)[..., None]
    return to(share, x.dtype) * np.max(s, axis=-1, keepdims=True, initial=0)


@maps("linalg.tensorinv")
def tensorinv(a: Any, ind: int = 2) -> Any:
    x = tensor(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows, columns = x.shape[:ind], x.shape[ind:]
    return np.reshape(inv(np.reshape(x, (math.prod(rows), math.prod(columns)))), (*columns, *rows))


@maps("linalg.tensorsolve")
def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    x, y = tensor(a), tensor(b)
    if axes is not None:
        x = np.transpose(x, [k for k in range(x.ndim) if k not in axes] + list(axes))
    columns = x.shape[y.ndim :]
    return np.reshape(solve(np.reshape(x, (y.size, math.prod(columns))), np.ravel(y)), columns)


@maps("polyfit")
def polyfit(x: Any, y: Any, deg: int, w: Any = None) -> Any:
    """By least squares of full rank, of columns that are scaled to length 1."""
    points, values = floats(x), floats(y)
    points, values = (to(each, np.result_type(points.dtype, values.dtype)) for each in (points, values))
    columns: Any = np.vander(points, deg + 1)
    right: Any = values if values.ndim == 2 else values[:, None]
    if w is not None:
        weights: Any = floats(w)
        if weights.shape != points.shape:
            raise TypeError("expected w and y to have the same length")
        columns, right = columns * weights[:, None], right * weights[:, None]
    scale = np.sqrt(np.sum(columns * columns, axis=0))
    found: Any = np.swapaxes(np.swapaxes(ops.lstsq(columns / scale, right), 0, 1) / scale, 0, 1)
    return found if values.ndim == 2 else found[:, 0]


@maps("poly")
def poly(seq_of_zeros: Any) -> Any:
    zeros = np.atleast_1d(floats(seq_of_zeros))
    if zeros.ndim != 1:
        raise CallError("np.poly while a function is traced takes zeros, found a matrix")
    found = to(tensor(np.ones(1)), zeros.dtype)
    for k in range(zeros.shape[0]):
        found = np.convolve(found, np.stack([np.ones_like(zeros[k]), -zeros[k]]))
    return found


@maps("linalg.matrix_power")
def matrix_power(a: Any, n: int) -> Any:
    x = tensor(a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if n < 0:
        x, n = inv(x), -n
    total: Any = None
    while n:
        total = (x if total is None else np.matmul(total, x)) if n & 1 else total
        n >>= 1
        x = np.matmul(x, x) if n else x
    return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape) if total is None else total
