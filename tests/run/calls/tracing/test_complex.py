"""Complex arrays and Python's complex numbers under `jit`: functions and dtypes as numpy has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime.base.errors import CallError

_random = np.random.default_rng(9)


def _complex(*shape: int) -> np.ndarray:
    return np.asarray(_random.normal(size=shape) + 1j * _random.normal(size=shape)).astype(np.complex64)


VALUES = {
    "a": _complex(2, 3),
    "b": _complex(2, 3),
    "s": _complex(3, 3),
    "v": _complex(3),
    "w": _complex(3),
    "f": _random.normal(size=(2, 3)).astype(np.float32),
    "d": _random.normal(size=(2, 3)),
    "h": _random.normal(size=(2, 3)).astype(np.float16),
    "i": np.array([[1, 2, 3], [6, 5, 4]]),
    "c": np.array([[True, False, True], [False, False, True]]),
}

PROGRAMS = {
    "numbers": "a * 2j + (1 - 1j) | 1j / a | f * 1j | d + 1j | h * 2j | i * (2 + 1j) | c + 1j | a == 1j | a ** 2 "
    "| a ** -3 | a ** (0.5 + 1j) | 2j ** a | a ** f | a + 1 | a / 2.5 | a + i | a + d | np.where(c, a, 1.0) "
    "| np.where(c, f, 2j) | a - True",
    "parts": "a.real | a.imag | np.real(a) | np.imag(f) | a.conj() | np.conjugate(f) | np.abs(a) | np.angle(a) "
    "| np.isreal(a) | a.astype(np.complex128) | f.astype(np.complex64) | np.positive(a) | -a | np.iscomplex(a)",
    "elements": "np.exp(a) | np.log(a) | np.sqrt(a) | np.sin(a) | np.cosh(a) | np.tanh(a) | np.square(a) "
    "| np.reciprocal(a) | np.sign(a) | np.isnan(a) | np.isfinite(a) | np.log10(a) | np.expm1(a) | np.power(a, b)",
    "products": "a @ s | np.dot(a, v) | np.inner(a, v) | np.outer(v, w) | np.vdot(v, w) | np.tensordot(a, s, 1) "
    "| np.einsum('ij,kj->ik', a, b) | np.kron(a, v) | np.cross(a, b) | a @ f.T | np.convolve(v, w) "
    "| np.correlate(v, w, 'full') | np.linalg.multi_dot([a, s, v]) | np.trace(s) | np.polyval(v, w)",
    "reductions": "a.sum(1) | np.prod(a, 0) | np.mean(a) | a.mean(axis=1, keepdims=True) | np.cumsum(a, 1) "
    "| np.cumprod(a, 0) | np.any(a, 0) | np.all(a) | np.count_nonzero(a) | np.sum(a, where=c) "
    "| np.mean(f, dtype=np.complex64) | np.diff(a, axis=1)",
    "places": "np.diagonal(s) | np.append(a, b, 0) | a[:, ::-1] | a[c] | np.select([c, ~c], [a, b]) "
    "| np.take_along_axis(a, i % 2, 0) | np.broadcast_arrays(a, v)[1] | np.array_equal(a, a) | np.vander(v)",
}  # fmt: skip


def functions(text: str) -> Callable[..., Any]:
    """Of the values, the tuple of these expressions."""
    made: Callable[..., Any] = eval(f"lambda {', '.join(VALUES)}: ({text.replace('|', ',')},)", {"np": np})
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    function = functions(PROGRAMS[name])
    texts = [each.strip() for each in re.split(r"\|", PROGRAMS[name])]
    with np.errstate(all="ignore"):
        wanted = function(**VALUES)
    for text, found, expected in zip(texts, rt.jit(function)(**VALUES), wanted, strict=True):
        array = np.asarray(found)
        assert (array.dtype, array.shape) == (np.asarray(expected).dtype, np.shape(expected)), text
        np.testing.assert_allclose(array, expected, 2e-5, 2e-5, err_msg=text)


def test_pythons_complex_numbers_as_arguments() -> None:
    """They decide the program, and take the dtype of what they meet; floats beside them are given when it runs."""
    a = VALUES["a"]
    program = rt.jit(lambda x, n, t: (x * n, (t * 1j) * x, n + 1))
    for number, factor in ((2j, 0.5), (1 + 1j, -1.5)):
        found = program(a, number, factor)
        assert found[0].dtype == found[1].dtype == np.complex64
        np.testing.assert_allclose(found[0], a * number, 1e-6)
        np.testing.assert_allclose(found[1], (factor * 1j) * a, 1e-6)
        assert found[2] == number + 1


def test_exponents_that_count_no_factors() -> None:
    a = VALUES["a"]
    found, is_short = rt.jit(lambda x: x ** complex("inf"))(a), np.abs(a) < 1
    assert (found[is_short] == 0).all()
    assert np.isnan(found[~is_short]).all()


@pytest.mark.parametrize("text", ["sort", "argsort", "max", "median", "var", "maximum.reduce"])
def test_what_has_no_order_is_refused(text: str) -> None:
    function = functions(f"np.{text}(a)")
    with pytest.raises(CallError, match=r"complex"):
        rt.jit(function)(**VALUES)
