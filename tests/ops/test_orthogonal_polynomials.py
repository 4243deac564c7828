"""Orthogonal polynomials against mpmath: values, gradients, and degrees that are none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.run.calls import eager

Polynomial = Callable[[int, mpf], mpf]


def chebyshev_u(n: int, x: mpf) -> mpf:
    return mpmath.chebyu(n, x) if n >= 0 else mpf(0)


def hermite_he(n: int, x: mpf) -> mpf:
    return mpmath.hermite(n, x / mpmath.sqrt(2)) / mpmath.sqrt(2) ** n


def laguerre(n: int, x: mpf) -> mpf:
    """The sum of its powers: mpmath's own form does not converge at whole operands."""
    return mpmath.fsum(mpmath.binomial(n, k) * (-x) ** k / mpmath.factorial(k) for k in range(n + 1))


EXACT: Final[dict[str, Polynomial]] = {
    "chebyshev_polynomial_t": mpmath.chebyt,
    "chebyshev_polynomial_u": chebyshev_u,
    "chebyshev_polynomial_v": lambda n, x: chebyshev_u(n, x) - chebyshev_u(n - 1, x),
    "chebyshev_polynomial_w": lambda n, x: chebyshev_u(n, x) + chebyshev_u(n - 1, x),
    "gegenbauer_polynomial": mpmath.legendre,
    "hermite_polynomial_h": mpmath.hermite,
    "hermite_polynomial_he": hermite_he,
    "laguerre_polynomial_l": laguerre,
    "legendre_polynomial_p": mpmath.legendre,
    "shifted_chebyshev_polynomial_t": lambda n, x: mpmath.chebyt(n, 2 * x - 1),
    "shifted_chebyshev_polynomial_u": lambda n, x: chebyshev_u(n, 2 * x - 1),
    "shifted_chebyshev_polynomial_v": lambda n, x: chebyshev_u(n, 2 * x - 1) - chebyshev_u(n - 1, 2 * x - 1),
    "shifted_chebyshev_polynomial_w": lambda n, x: chebyshev_u(n, 2 * x - 1) + chebyshev_u(n - 1, 2 * x - 1),
}
"""Of an attr `order` at its default, which for Gegenbauer's polynomials gives Legendre's."""
DEGREES: Final = (1, 2, 5, 13, 30)
POINTS: Final = (-3.7, -1.0, -0.83, -0.1, 0.0, 1e-5, 0.37, 0.9, 0.99999, 1.0, 2.5, 30.0)
PAGE: Final = Path(__file__).parents[2] / "docs" / "reliability.md"


def stated_bound() -> int:
    """The error in ULP a degree that the page states."""
    found = re.search(r"Orthogonal polynomials\*\* of degree n are at most (\d+) n ULP", PAGE.read_text())
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EXACT)
def test_errors_are_as_stated(name: str, dtype: str) -> None:
    """In units of the greatest polynomial up to the degree, since each has zeros."""
    x, bound = np.array(POINTS, dtype), stated_bound()
    for n in DEGREES:
        with np.errstate(over="ignore"):
            found = getattr(eager, name)(x, np.full(x.shape, n, dtype))
        with mpmath.workprec(200):
            values = [[EXACT[name](k, mpf(float(each))) for k in range(n + 1)] for each in x]
        for point, got, exact in zip(x, found, values, strict=True):
            size = max(map(abs, exact))
            if size < np.finfo(dtype).max:
                assert abs(mpf(float(got)) - exact[-1]) <= bound * n * np.spacing(x.dtype.type(size)), (
                    n,
                    point,
                )


@pytest.mark.parametrize("name", EXACT)
def test_slopes(name: str) -> None:
    x = np.array([-40.0, -2.0, -0.9, 1e-9, 0.4, 0.999, 3.0, 1e4])
    for n in (0.0, 0.5, 1.0, 1.5, 2.0, 7.0):
        slope = rt.grad(lambda x, n=n: ops.sum(getattr(ops, name)(x, np.full(8, n))))(x)
        with mpmath.workprec(200):
            # Central differences in 200 bits: the rest is below 1e-24 of what it is.
            step = mpf(2) ** -60
            polynomial = lambda at, n=n: EXACT[name](int(n), at)  # noqa: E731
            exact = [
                float((polynomial(mpf(each) + step) - polynomial(mpf(each) - step)) / (2 * step))
                for each in x
            ]
        np.testing.assert_allclose(slope, exact, rtol=1e-12, atol=1e-13, err_msg=f"degree {n}")


@pytest.mark.parametrize("name", EXACT)
def test_degrees(name: str) -> None:
    """Below 0 there is nothing, a fraction is dropped, and above `most` there is no answer."""
    degrees = np.array([-np.inf, -3.0, -1.0, -0.5, 0.0, 0.9, 4.0, 4.5, 5.0, np.inf, np.nan])
    found = getattr(eager, name)(np.float64(0.3), degrees, most=4)
    fourth = getattr(eager, name)(np.float64(0.3), np.float64(4.0), most=9)
    np.testing.assert_array_equal(found, [0, 0, 0, 1, 1, 1, fourth, fourth, np.nan, np.nan, np.nan])
