"""Transforms of complex and real arrays beside numpy.fft: lengths, axes, norms; what stands for them; adjoints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import eager, ir
from opgen_runtime.transform import DecomposeOps
from opgen_runtime.transform.gradient import vjp_call
from tests.transform.whole import gives

RANDOM = np.random.default_rng(5)


def numbers(shape: tuple[int, ...], is_complex: bool) -> np.ndarray:
    x, y = RANDOM.normal(size=(2, *shape))
    return x + 1j * y if is_complex else x


def assert_near(mine: Any, theirs: np.ndarray) -> None:
    """The dtype, the shape, and the norm of the difference."""
    found = np.asarray(mine)
    assert (found.dtype, found.shape) == (theirs.dtype, theirs.shape)
    assert np.linalg.norm(found - theirs) <= 1e-14 * np.linalg.norm(theirs)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize(
    ("length", "n", "norm"), [(2, None, None), (7, None, "ortho"), (12, 13, "forward"), (86, 83, None)]
)
def test_along_a_line(name: str, length: int, n: int | None, norm: str | None) -> None:
    given = numbers((2, length, 3), name not in ("rfft", "ihfft"))
    found = getattr(eager, name)(given, n=n, axis=1, norm=norm or "backward")
    assert_near(found, getattr(np.fft, name)(given, n=n, axis=1, norm=norm))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize(("s", "axes"), [(None, None), ((4, 5), (2, 0)), (None, (1,))])
def test_along_axes(name: str, s: tuple[int, ...] | None, axes: tuple[int, ...] | None) -> None:
    given = numbers((3, 4, 6), name != "rfftn")
    assert_near(getattr(eager, name)(given, s=s, axes=axes), getattr(np.fft, name)(given, s=s, axes=axes))


def test_real_numbers_are_transformed_in_pairs() -> None:
    gives(
        DecomposeOps(),
        "fn (%x: [2, 6]) { rfft(%x) }",
        """fn (%x: [2, 6]) {
          %0 = reshape(%x, newshape=[2, 6, 1], allowzero=True);
          %1 = strided_slice(%0, begin=[0], end=[6], strides=[2], axes=[1]);
          %2 = strided_slice(%0, begin=[1], end=[6], strides=[2], axes=[1]);
          %3 = dft_roots(radix=3, rest=1);
          %4 = dft_pass(%1, %2, %3.0, %3.1);
          %5 = reshape(%4.0, newshape=[2, 3, 1], allowzero=True);
          %6 = reshape(%4.1, newshape=[2, 3, 1], allowzero=True);
          %7 = (%5, %6);
          %8 = dft_roots(radix=2, rest=3);
          %9 = spectrum_of_pairs(%7.0, %7.1, %8.0, %8.1);
          reshape(%9, newshape=[2, 4], allowzero=True)
        }""",
    )


@pytest.mark.parametrize("name", ["fftn", "rfftn", "irfftn"])
@pytest.mark.parametrize(
    "attrs", [{}, {"norm": "ortho", "axes": (1, 0)}, {"s": (4, 7), "axes": (0, 1)}, {"s": (6,), "axes": (0,)}]
)
def test_gradients_are_adjoints(name: str, attrs: dict[str, Any]) -> None:
    """<F x, w> is <x, F* w>, of complex numbers as vectors of their parts."""
    x = numbers((5, 6), name != "rfftn")
    call = getattr(rt.ops, name)(ir.const(x), **attrs)
    assert isinstance(call, ir.Call)
    assert isinstance(call.op, rt.Op)
    image = evaluated(call)
    w = numbers(image.shape, image.dtype.kind == "c")
    adjoint = vjp_call(call.op, call, {(): ir.const(w)}, 0, None)
    assert adjoint is not None
    back = evaluated(adjoint)
    assert (back.dtype, back.shape) == (x.dtype, x.shape)
    assert np.vdot(image, w).real == pytest.approx(np.vdot(x, back).real, rel=1e-12)


def evaluated(expr: ir.Expr) -> np.ndarray:
    return np.asarray(rt.build(rt.Function((), expr)).run([]))
