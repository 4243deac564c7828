"""Factors of matrices, and what is solved by them."""

from __future__ import annotations

from typing import Any

import numpy

from opgen_runtime import ops

from ..adapter import adapts, table

np: Any = numpy

table({"linalg.inv": np.linalg.inv, "linalg.det": np.linalg.det, "linalg.slogdet": np.linalg.slogdet,
       "linalg.cond": np.linalg.cond, "linalg.tensorinv": np.linalg.tensorinv,
       "logdet": lambda a: np.log(np.linalg.det(a))})  # fmt: skip


@adapts("linalg.matrix_power")
def matrix_power(a: Any, n: int) -> Any:
    return np.linalg.matrix_power(np.linalg.inv(a) if n < 0 else a, abs(n))


@adapts("cholesky", "linalg.cholesky")
def cholesky(a: Any, upper: bool = False) -> Any:
    return ops.cholesky(a, upper=upper)


def _failed(sound: Any) -> Any:
    """What LAPACK's `info` says of each matrix, but not where: 0 or 1."""
    return np.astype(~sound, np.int32)


def _singular(packed: Any) -> Any:
    """`info` of the factors of a matrix with interchanged rows."""
    return _failed(np.all(np.diagonal(packed, axis1=-2, axis2=-1) != 0, axis=-1))


@adapts("linalg.cholesky_ex")
def cholesky_ex(a: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    factor = cholesky(a, upper)
    return factor, _failed(np.all(np.isfinite(factor), axis=(-2, -1)))


@adapts("linalg.inv_ex")
def inv_ex(a: Any, *, check_errors: bool = False) -> Any:
    return np.linalg.inv(a), _singular(ops.lu(a)[0])


@adapts("linalg.qr")
def linalg_qr(a: Any, mode: str = "reduced") -> Any:
    return np.linalg.qr(a, mode)


@adapts("qr")
def qr(a: Any, some: bool = True) -> Any:
    return np.linalg.qr(a, "reduced" if some else "complete")


@adapts("linalg.lu")
def lu(a: Any, *, pivot: bool = True) -> Any:
    packed, _, permutation = ops.lu(a)
    return _unpacked(packed, permutation)


def _unpacked(packed: Any, permutation: Any) -> Any:
    rows, columns = packed.shape[-2:]
    inner = min(rows, columns)
    one, zero = packed.dtype.type(1), packed.dtype.type(0)
    rows_of = np.swapaxes(ops.one_hot(permutation, one, zero, depth=rows), -1, -2)
    lower = np.tril(packed[..., :inner], -1) + np.eye(rows, inner, dtype=packed.dtype)
    return rows_of, lower, np.triu(packed[..., :inner, :])


def _permutation(pivots: Any, rows: int) -> Any:
    return ops.lu_pivots_to_permutation(pivots - np.int32(1), size=rows)


@adapts("lu_unpack")
def lu_unpack(packed: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    return _unpacked(packed, _permutation(pivots, packed.shape[-2]))


@adapts("linalg.lu_solve")
def lu_solve(packed: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    if not left:
        return np.swapaxes(lu_solve(packed, pivots, np.swapaxes(b, -1, -2), adjoint=not adjoint), -1, -2)
    factors, right = _together(packed, b)
    order = np.expand_dims(_permutation(pivots, packed.shape[-1]), -1)
    rows = np.broadcast_to(order, right.shape)
    if adjoint:
        half = ops.solve_triangular(factors, right, lower=False, transposed=True)
        whole = ops.solve_triangular(factors, half, transposed=True, unit_diagonal=True)
        return np.take_along_axis(whole, np.argsort(rows, axis=-2), -2)
    half = ops.solve_triangular(factors, np.take_along_axis(right, rows, -2), unit_diagonal=True)
    return ops.solve_triangular(factors, half, lower=False)


@adapts("lu_solve")
def lu_solve_of(b: Any, packed: Any, pivots: Any) -> Any:
    return lu_solve(packed, pivots, b)


table(
    {"matrix_exp": ops.matrix_exp, "geqrf": ops.geqrf, "linalg.householder_product": ops.householder_product}
)


@adapts("ormqr")
def ormqr(packed: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    if left:
        return ops.ormqr(packed, tau, other, transposed=transpose)
    return np.swapaxes(ops.ormqr(packed, tau, np.swapaxes(other, -1, -2), transposed=not transpose), -1, -2)


@adapts("linalg.lu_factor")
def lu_factor(a: Any, *, pivot: bool = True) -> Any:
    packed, pivots, _ = ops.lu(a)
    return packed, pivots + np.int32(1)


@adapts("linalg.lu_factor_ex")
def lu_factor_ex(a: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    packed, pivots = lu_factor(a, pivot=pivot)
    return packed, pivots, _singular(packed)


@adapts("lu")
def lu_of(a: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    return lu_factor_ex(a, pivot=pivot)[: 3 if get_infos else 2]


def _together(*arrays: Any) -> list[Any]:
    """Stacks of matrices whose leading axes are broadcast together."""
    batch = np.broadcast_shapes(*[each.shape[:-2] for each in arrays])
    return [np.broadcast_to(each, (*batch, *each.shape[-2:])) for each in arrays]


@adapts("linalg.solve")
def solve(a: Any, b: Any, *, left: bool = True) -> Any:
    if b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1]):
        return solve(a, np.expand_dims(b, -1), left=left)[..., 0]
    if not left:
        return np.swapaxes(solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    return ops.solve(*_together(a, b))


@adapts("linalg.solve_ex")
def solve_ex(a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    return solve(a, b, left=left), _singular(ops.lu(a)[0])


@adapts("linalg.solve_triangular")
def solve_triangular(a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    sides = _together(a, b if left else np.swapaxes(b, -1, -2))
    made = ops.solve_triangular(*sides, lower=not upper, transposed=not left, unit_diagonal=unitriangular)
    return made if left else np.swapaxes(made, -1, -2)


@adapts("triangular_solve")
def triangular_solve(
    b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    left, right = _together(a, b)
    made = ops.solve_triangular(
        left, right, lower=not upper, transposed=transpose, unit_diagonal=unitriangular
    )
    return made, left


@adapts("cholesky_solve")
def cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Any:
    left, right = _together(factor, b)
    half = ops.solve_triangular(left, right, lower=not upper, transposed=upper)
    return ops.solve_triangular(left, half, lower=not upper, transposed=not upper)


@adapts("cholesky_inverse")
def cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    return cholesky_solve(np.eye(factor.shape[-1], dtype=factor.dtype), factor, upper)


@adapts("linalg.lstsq[grad_oriented]")
def lstsq_with_residuals(a: Any, b: Any, *, driver: str = "gelsy") -> Any:
    found = ops.lstsq(*_together(a, b))
    off = b - np.matmul(a, found)
    return found, np.sum(off * off, axis=-2) if a.shape[-2] > a.shape[-1] else np.zeros((0,), a.dtype)


@adapts("linalg.lstsq")
def lstsq(a: Any, b: Any, *, driver: str = "gelsy") -> Any:
    if driver != "gels":
        raise NotImplementedError("the rank, which lstsq does not find")
    return *lstsq_with_residuals(a, b), np.zeros((0,), np.int64), np.zeros((0,), a.dtype)


@adapts("linalg.tensorsolve")
def tensorsolve(a: Any, b: Any, dims: Any = None) -> Any:
    return np.linalg.tensorsolve(a, b, dims)


@adapts("cdist")
def cdist(a: Any, b: Any, p: float = 2.0, compute_mode: str = "") -> Any:
    return ops.cdist(*_together(a, b), p=float(p))


@adapts("nn.functional.pdist")
def pdist(a: Any, p: float = 2.0) -> Any:
    rows, columns = np.triu_indices(a.shape[0], 1)
    return ops.cdist(a, a, p=float(p))[rows, columns]


@adapts("svd")
def svd(a: Any, some: bool = True, compute_uv: bool = True) -> Any:
    if (not some and a.shape[-1] != a.shape[-2]) or not compute_uv:
        raise NotImplementedError("as many vectors as there are rows, or zeros for vectors")
    u, s, vh = ops.svd(a)
    return u, s, np.swapaxes(vh, -1, -2)


@adapts("linalg.svd")
def linalg_svd(a: Any, full_matrices: bool = True, *, driver: Any = None) -> Any:
    if full_matrices and a.shape[-1] != a.shape[-2]:
        raise NotImplementedError("as many vectors as there are rows and columns")
    return ops.svd(a)


table({"linalg.svdvals": lambda a, *, driver=None: ops.svd(a)[1],
       "linalg.eigh": np.linalg.eigh, "linalg.eigvalsh": np.linalg.eigvalsh,
       "pinverse": lambda a, rcond=1e-15: np.linalg.pinv(a, rcond)})  # fmt: skip


def _relative(atol: Any, rtol: Any) -> Any:
    """PyTorch's relative tolerance; an absolute one beside it is refused."""
    if atol is not None and (hasattr(atol, "shape") or atol):
        raise NotImplementedError("np.linalg takes relative tolerances")
    return rtol if hasattr(rtol, "shape") or rtol is not None or atol is None else 0.0


@adapts("linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    return np.linalg.pinv(a, hermitian=hermitian, rtol=_relative(atol, rtol if rcond is None else rcond))


@adapts("linalg.pinv[singular]")
def pinv_of_product(a: Any, b: Any) -> Any:
    return pinv(np.matmul(a, np.swapaxes(b, -1, -2)))


@adapts("linalg.matrix_rank")
def matrix_rank(
    a: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    if tol is None and atol is not None and rtol is None:
        tol = atol
    return np.linalg.matrix_rank(a, tol, hermitian, rtol=_relative(None if tol is atol else atol, rtol))
