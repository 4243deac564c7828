"""DecomposeOps: what becomes of calls of sizes that their ops declare other ops for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import PassError
from opgen_runtime.declaration import lang as _l
from opgen_runtime.declaration import statement as _d
from opgen_runtime.transform import DecomposeOps
from tests.transform.whole import gives

_RNG = np.random.default_rng(3)


def test_whole() -> None:
    """A triangular system by halves, with a product between."""
    gives(
        DecomposeOps(),
        "fn (%a: [24, 24], %b: [24, 1]) { solve_triangular(%a, %b) }",
        """fn (%a: [24, 24], %b: [24, 1]) {
          %0 = strided_slice(%a, begin=[0, 0], end=[12, 12], axes=[-2, -1]);
          %1 = strided_slice(%b, begin=[0], end=[12], axes=[-2]);
          %2 = solve_triangular(%0, %1);
          %3 = strided_slice(%a, begin=[12, 12], end=[24, 24], axes=[-2, -1]);
          %4 = strided_slice(%b, begin=[12], end=[24], axes=[-2]);
          %5 = strided_slice(%a, begin=[12, 0], end=[24, 12], axes=[-2, -1]);
          %6 = matmul(%5, %2);
          %7 = subtract(%4, %6);
          %8 = solve_triangular(%3, %7);
          concatenate((%2, %8), axis=-2)
        }""",
    )


def test_what_stays() -> None:
    """A size for which no condition holds, a size that is not known, an op that declares nothing."""
    gives(DecomposeOps(), "fn (%a: [16, 16], %b: [16, 1]) { solve_triangular(%a, %b) }")
    gives(DecomposeOps(), "fn (%a: [100, 100]) { exp(%a) }")
    n = rt.dim("n")
    a = rt.var("a", rt.TensorType((n, n), "float32"))
    gives(DecomposeOps(), rt.Function((a,), ops.cholesky(a)))


def endless(x: _d.ExprLike, times: int = 1) -> _d.Call:
    """The operand, by itself again."""
    return _d.call(ENDLESS, (x,), times=times)


class EndlessAttrs(_d.Attrs):
    type_key = "attrs.tests.endless"
    times: int = _d.attr("int", default=1)


ENDLESS = _d.declare(
    endless,
    _d.Input("x"),
    _d.Output("out", shape="x.shape", dtype="x.dtype"),
    attrs=EndlessAttrs,
    compute=lambda x, out: out.define(lambda *i: _l.abs(x[*i])),
    pattern=_d.OpPattern.ELEMWISE,
    decompositions=(
        _d.Decomposition(
            lambda x: endless(x, times=1), when=lambda times: times == 1, when_text="times == 1"
        ),
        _d.Decomposition(lambda x, times: endless(x, times=times + 1)),
    ),
    namespace="tests",
)


@pytest.mark.parametrize("times", [1, 2])
def test_without_an_end(times: int) -> None:
    """A call of the same, and calls without number, are refused by the name of the op and the types."""
    x = rt.var("x", rt.TensorType((3,), "float32"))
    with pytest.raises(PassError, match=r"tests\.endless: its `decompose:` never ends: .*\(3,\), float32"):
        DecomposeOps()(rt.Function((x,), endless(x, times=times)))


def spd(*shape: int) -> np.ndarray:
    factor = _RNG.standard_normal(shape)
    return np.asarray(factor @ np.swapaxes(factor, -1, -2) / shape[-1] + np.eye(shape[-1]))


@pytest.mark.parametrize("shape", [(17, 17), (2, 3, 40, 40), (130, 130)])
def test_factors(shape: tuple[int, ...]) -> None:
    """Factors are triangular, and give the matrix back."""
    a = spd(*shape)
    lower = rt.eager.cholesky(a)
    np.testing.assert_allclose(lower, np.linalg.cholesky(a), rtol=1e-10, atol=1e-10)
    upper = rt.eager.cholesky(a, upper=True)
    np.testing.assert_allclose(upper, np.swapaxes(lower, -1, -2), rtol=1e-10, atol=1e-10)


def unblocked(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gaussian elimination column by column, the greatest of each column as pivot."""
    w, order, pivots = a.copy(), np.arange(len(a)), []
    for t in range(min(a.shape)):
        pivots.append(t + int(np.argmax(np.abs(w[t:, t]))))
        for each in (w, order):
            each[[t, pivots[-1]]] = each[[pivots[-1], t]]
        w[t + 1 :, t] = w[t + 1 :, t] / w[t, t] if w[t, t] != 0 else 0
        w[t + 1 :, t + 1 :] -= np.outer(w[t + 1 :, t], w[t, t + 1 :])
    return w, np.array(pivots), order


@pytest.mark.parametrize("shape", [(17, 17), (131, 40), (40, 70), (300, 20)])
@pytest.mark.parametrize("singular", [False, True])
def test_lu(shape: tuple[int, int], singular: bool) -> None:
    """The pivots are those of elimination column by column, where panels are padded, and without a pivot."""
    a = _RNG.standard_normal(shape)
    if singular:
        a[:, 5] = 0
    for found, wanted in zip(rt.eager.lu(a), unblocked(a), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_triangular_systems(lower: bool, transposed: bool) -> None:
    """Each half of each system, of which the other triangle is not read."""
    a = spd(2, 37, 37)
    b = _RNG.standard_normal((2, 37, 3))
    read = np.tril(a) if lower else np.triu(a)
    wanted = np.linalg.solve(np.swapaxes(read, -1, -2) if transposed else read, b)
    nan = np.where(np.triu(np.ones((37, 37)), 1).T if not lower else np.triu(np.ones((37, 37)), 1), np.nan, a)
    found = rt.eager.solve_triangular(nan, b, lower=lower, transposed=transposed)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


FUNCTIONS: dict[str, Any] = {
    "solve": lambda a: np.linalg.solve(a, a[..., :2]),
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": lambda a: tuple(np.linalg.slogdet(a)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_systems(name: str) -> None:
    """Batches, of either sign of the determinant."""
    a = _RNG.standard_normal((3, 35, 35))
    found, wanted = rt.jit(FUNCTIONS[name])(a), FUNCTIONS[name](a)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-12)


def test_not_positive_definite() -> None:
    """What is not positive definite has NaN from there on; what stands before does not."""
    a = spd(40, 40)
    a[30, 30] = -9
    found = rt.eager.cholesky(a)
    assert np.isnan(found[30:, 30]).all()
    np.testing.assert_allclose(
        found[:, :30], np.linalg.cholesky(a + 99 * (np.eye(40)[30] * np.eye(40)))[:, :30]
    )


def test_gradient() -> None:
    """A gradient is that of the call; its systems are decomposed in turn."""
    a, b = spd(20, 20), _RNG.standard_normal((20, 1))
    found = rt.grad(lambda a: np.sum(np.linalg.solve(a, b)))(a)
    x = np.linalg.solve(a, b)
    np.testing.assert_allclose(found, -np.linalg.solve(a.T, np.ones((20, 1))) @ x.T, rtol=1e-8, atol=1e-10)
