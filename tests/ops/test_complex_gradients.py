"""Gradients of complex numbers: torch's convention, beside differences of functions of `tests.complex_gradients`."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime.base.errors import CallError
from tests.complex_gradients import FUNCTIONS, TOLERANCE, difference, of_ours, operands, weighted

SAMPLE = [
    "conj",
    "abs",
    "log",
    "tanh",
    "power",
    "prod",
    "cumprod",
    "matrix product",
    "product with itself",
    "chain",
]
_STEP = 1e-6


def by_differences(name: str) -> np.ndarray:
    """(f(x + h) - f(x - h)) / 2h of the real part, plus 1j times that of the imaginary one."""
    z, a = operands()
    found = np.zeros_like(z)
    for k in range(z.size):
        for direction in (1.0, 1j):
            step = np.zeros_like(z)
            step[k] = _STEP * direction
            ends = [
                weighted(
                    np,
                    FUNCTIONS[name](np, z + way * step, a),
                    lambda s: np.random.default_rng(s).normal(size=16),
                )
                for way in (1, -1)
            ]
            found[k] += direction * (ends[0] - ends[1]) / (2 * _STEP)
    return found


@pytest.mark.parametrize("name", SAMPLE)
def test_they_are_slopes_of_the_parts(name: str) -> None:
    np.testing.assert_allclose(of_ours(name), by_differences(name), rtol=1e-6, atol=1e-7)


def test_the_convention() -> None:
    assert rt.grad(lambda z: np.real(z * z))(np.array(1 + 2j)) == 2 - 4j


@pytest.mark.parametrize("other", ["torch", "jax"])
def test_they_are_those_of_other_frameworks(other: str) -> None:
    pytest.importorskip(other, reason=f"compares with {other}")
    for name in SAMPLE[:3]:
        assert difference(name, other) <= TOLERANCE


def test_the_result_is_real() -> None:
    with pytest.raises(CallError, match=r"the result is Tensor\[\(\), complex128\]; rt.grad needs one float"):
        rt.grad(lambda z: (z * z).sum())(np.array([1 + 2j]))


def test_through_real_numbers_and_back() -> None:
    x = np.array([0.5, -1.0])
    found = rt.grad(lambda t: np.abs(np.exp(1j * t) + 2.0).sum())(x)
    np.testing.assert_allclose(found, -2 * np.sin(x) / np.abs(np.exp(1j * x) + 2.0))


def test_of_complex64() -> None:
    z = np.array([1 + 2j, -1j], np.complex64)
    found = rt.grad(lambda w: np.abs(w).sum())(z)
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, z / np.abs(z), rtol=1e-6)
