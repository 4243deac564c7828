"""Gradients of special functions and of activations, in relative terms over their whole range, tails included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import opgen_runtime as rt
from opgen_runtime import ops

Slope = Callable[[mpf], mpf]
TWO_PI = 2 * mpmath.pi


def normal(x: mpf) -> mpf:
    return mpmath.exp(-x * x / 2) / mpmath.sqrt(TWO_PI)


def bent(x: mpf) -> mpf:
    return mpf(1) if x > 0 else mpmath.exp(x)


def bessel_slope(order: int, x: mpf) -> mpf:
    return (mpmath.besseli(order - 1, x) + mpmath.besseli(order + 1, x)) / 2


def scaled_slope(order: int, x: mpf) -> mpf:
    scale = mpmath.exp(-abs(x))
    return scale * (bessel_slope(order, x) - mpmath.sign(x) * mpmath.besseli(order, x))


def scaled_k_slope(order: int, x: mpf) -> mpf:
    near = mpmath.besselk(order, x) - (mpmath.besselk(abs(order - 1), x) + mpmath.besselk(order + 1, x)) / 2
    return mpmath.exp(x) * near


SLOPES: dict[str, tuple[Slope, Sequence[float]]] = {
    "erfc": (lambda x: -2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x), (-5, -0.3, 0.0, 1e-9, 2.0, 8.0)),
    "erfcx": (
        lambda x: 2 * x * mpmath.exp(x * x) * mpmath.erfc(x) - 2 / mpmath.sqrt(mpmath.pi),
        (-5.0, -0.3, 0.0, 1e-9, 0.5, 2.0, 8.0, 30.0, 900.0),
    ),
    "erfinv": (
        lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(mpmath.erfinv(x) ** 2),
        (-0.999, -0.5, 0.0, 1e-9, 0.9),
    ),
    "ndtr": (normal, (-12.0, -3.0, 0.0, 1.0, 9.0)),
    "log_ndtr": (
        lambda x: 2 * normal(x) / mpmath.erfc(-x / mpmath.sqrt(2)),
        (-400.0, -21.0, -15.0, -3.0, 0.0, 8.0),
    ),
    "sinc": (lambda x: mpmath.diff(mpmath.sincpi, x), (-7.3, -0.6, -0.4, 1e-6, 0.1, 0.45, 2.25, 30.7)),
    "log_sigmoid": (lambda x: 1 / (1 + mpmath.exp(x)), (-700.0, -17.0, 0.0, 17.0, 600.0)),
    "lgamma": (mpmath.digamma, (-3.3, -0.5, 1e-5, 0.7, 1.0, 2.0, 5.5, 40.0, 1e6)),
    "digamma": (lambda x: mpmath.polygamma(1, x), (-3.3, -0.5, 1e-5, 0.7, 1.5, 5.5, 40.0, 1e6)),
    "trigamma": (lambda x: mpmath.polygamma(2, x), (-3.3, 1e-5, 0.7, 1.5, 5.5, 40.0, 1e6)),
    "i0": (lambda x: mpmath.besseli(1, x), (-60.0, -7.0, 0.0, 1e-6, 0.5, 7.9, 9.0, 80.0)),
    "i1": (lambda x: bessel_slope(1, x), (-60.0, -7.0, 1e-6, 0.5, 7.9, 9.0, 80.0)),
    "i0e": (lambda x: scaled_slope(0, x), (-600.0, -7.0, 0.5, 7.9, 9.0, 80.0)),
    "i1e": (lambda x: scaled_slope(1, x), (-600.0, -7.0, 0.5, 7.9, 9.0, 80.0)),
    "j0": (lambda x: -mpmath.besselj(1, x), (-60.0, -7.0, 1e-6, 0.5, 7.9, 9.0, 600.0)),
    "j1": (lambda x: mpmath.besselj(1, x, derivative=1), (-60.0, -7.0, 0.0, 1e-6, 0.5, 7.9, 9.0, 600.0)),
    "y0": (lambda x: -mpmath.bessely(1, x), (1e-6, 0.5, 7.9, 9.0, 600.0)),
    "y1": (lambda x: mpmath.bessely(1, x, derivative=1), (1e-6, 0.5, 7.9, 9.0, 600.0)),
    "k0": (lambda x: -mpmath.besselk(1, x), (1e-6, 0.5, 1.9, 2.1, 60.0)),
    "k1": (lambda x: -mpmath.besselk(0, x) - mpmath.besselk(1, x) / x, (1e-6, 0.5, 1.9, 2.1, 60.0)),
    "k0e": (lambda x: scaled_k_slope(0, x), (1e-6, 0.5, 1.9, 2.1, 60.0, 1e4)),
    "k1e": (lambda x: scaled_k_slope(1, x), (1e-6, 0.5, 1.9, 2.1, 60.0, 1e4)),
    "spherical_bessel_j0": (lambda x: (mpmath.cos(x) - mpmath.sin(x) / x) / x, (-7.3, 1e-6, 0.4, 0.6, 90.0)),
    "ndtri": (
        lambda p: 1 / normal(mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)),
        (1e-30, 1e-3, 0.2, 0.5, 0.6, 0.999),
    ),
    "elu": (bent, (-40.0, -17.0, -1e-9, 3.0)),
    "celu": (bent, (-40.0, -17.0, -1e-9, 3.0)),
}
WITHIN = {"float32": 3e-5, "float64": 1e-13}
SELU = 1.6732632423543772 * 1.0507009873554805


def slopes(function: Callable[..., Any], *x: np.ndarray, of: int = 0) -> np.ndarray:
    """The derivatives of a function of elements by one operand."""
    found = rt.jit(rt.grad(lambda *x: ops.sum(function(*x)), argnums=of))(*x)
    return np.asarray(found, np.float64)


@pytest.mark.parametrize("dtype", WITHIN)
@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name: str, dtype: str) -> None:
    slope, points = SLOPES[name]
    x = np.array(points, dtype)
    with mpmath.workprec(300):
        exact = np.array([float(slope(mpf(float(each)))) for each in x])
    told = np.abs(exact) > np.finfo(dtype).tiny
    np.testing.assert_allclose(slopes(getattr(ops, name), x)[told], exact[told], rtol=WITHIN[dtype])


def test_the_slope_of_selu_far_below_zero() -> None:
    x = np.array([-30.0, -17.0, -3.0])
    np.testing.assert_allclose(slopes(ops.selu, x), SELU * np.exp(x), rtol=1e-14)


def test_slopes_of_pairs() -> None:
    x, y = np.array([-700.0, 0.0, 1.0, 30.0, 2.0]), np.array([1.0, 0.0, 40.0, -30.0, 2.0])
    np.testing.assert_allclose(slopes(ops.logaddexp, x, y), 1 / (1 + np.exp(y - x)), rtol=1e-14)
    np.testing.assert_allclose(slopes(ops.logaddexp, x, y, of=1), 1 / (1 + np.exp(x - y)), rtol=1e-14)
    small, log = np.array([0.0, 1e-9, 3.0]), np.array([0.5, 1e-300, 2.0])
    np.testing.assert_allclose(slopes(ops.xlogy, small, log), np.log(log), rtol=1e-15)
    np.testing.assert_allclose(slopes(ops.xlogy, small, log, of=1), small / log, rtol=1e-15)
    wide = np.array([3e200, 4e-200])
    np.testing.assert_allclose(slopes(ops.hypot, wide, wide), np.sqrt([0.5, 0.5]), rtol=1e-15)
