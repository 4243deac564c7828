"""The discrete Fourier transform beside numpy.fft: lengths with factors, primes, axes, dtypes, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import eager, ops
from opgen_runtime.transform import DecomposeOps
from tests.transform.whole import gives

RANDOM = np.random.default_rng(7)
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 30, 97, 101, 194, 1000, 1024)


def whole(parts: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The complex numbers of real and imaginary parts."""
    return parts[0] + 1j * parts[1]


def apart(mine: np.ndarray, theirs: np.ndarray) -> float:
    """The norm of the difference, relative to that of what is expected."""
    assert mine.shape == theirs.shape
    return float(np.linalg.norm(mine - theirs) / np.linalg.norm(theirs))


def test_a_pass_a_factor() -> None:
    """The elements stay in order: what a pass leaves has its factor as an axis before the rest."""
    gives(
        DecomposeOps(),
        "fn (%x: [3, 15]) { dft(%x, %x) }",
        """fn (%x: [3, 15]) {
          %0 = dft_roots(radix=5, rest=3);
          %1 = dft_pass(%x, %x, %0.0, %0.1);
          %2 = dft_roots(radix=3, rest=1);
          %3 = dft_pass(%1.0, %1.1, %2.0, %2.1);
          %4 = reshape(%3.0, newshape=[3, 3, 5], allowzero=True);
          %5 = reshape(%3.1, newshape=[3, 3, 5], allowzero=True);
          %6 = (%4, %5);
          %7 = reshape(%6.0, newshape=[3, 15], allowzero=True);
          %8 = reshape(%6.1, newshape=[3, 15], allowzero=True);
          (%7, %8)
        }""",
    )


@pytest.mark.parametrize("length", LENGTHS)
def test_of_any_length(length: int) -> None:
    """As near to numpy as rounding is, both ways, and back again."""
    x, y = RANDOM.normal(size=(2, 2, length))
    found = eager.dft(x, y)
    assert apart(whole(found), np.fft.fft(x + 1j * y)) < 1e-14
    assert apart(whole(eager.dft(x, y, inverse=True)), np.fft.ifft(x + 1j * y)) < 1e-14
    assert apart(whole(eager.dft(*found, inverse=True)), x + 1j * y) < 1e-14


@pytest.mark.parametrize("length", [97, 1000])
def test_float32_is_as_near_as_its_rounding(length: int) -> None:
    x, y = RANDOM.normal(size=(2, 3, length)).astype(np.float32)
    found = eager.dft(x, y)
    assert [each.dtype for each in found] == [np.float32, np.float32]
    assert apart(whole(found), np.fft.fft(x.astype(np.float64) + 1j * y)) < 1e-6


@pytest.mark.parametrize("axis", [0, 1, -2, -1])
def test_along_any_axis(axis: int) -> None:
    x, y = RANDOM.normal(size=(2, 6, 67, 9))
    assert apart(whole(eager.dft(x, y, axis=axis)), np.fft.fft(x + 1j * y, axis=axis)) < 1e-14


def test_of_no_lines() -> None:
    for shape in ((0, 12), (0, 97), (4, 0, 8)):
        empty = np.zeros(shape)
        assert [each.shape for each in eager.dft(empty, empty)] == [shape, shape]


def test_of_open_lengths() -> None:
    """One program, of the definition, where the length is not known."""
    n = rt.dim("n")
    x = rt.var("x", rt.TensorType((n,), "float64"))
    program = rt.build(rt.Function((x,), ops.dft(x, x)))
    for length in (3, 97):
        given = RANDOM.normal(size=length)
        assert apart(whole(program.run([given])), np.fft.fft(given + 1j * given)) < 1e-13


@pytest.mark.parametrize("inverse", [False, True])
def test_gradient_is_the_adjoint(inverse: bool) -> None:
    """Of <F z, w> by z: F's conjugate transpose of w."""
    x, y, u, v = RANDOM.normal(size=(4, 20))

    def along(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        re, im = ops.dft(x, y, inverse=inverse)
        return ops.sum(re * u + im * v)

    found = rt.grad(along, argnums=(0, 1))(x, y)
    w = u + 1j * v
    assert apart(whole(found), np.fft.fft(w) / 20 if inverse else np.fft.ifft(w) * 20) < 1e-14
