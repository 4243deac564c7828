"""`grad:` of declarations: what it may say, and that a wrong one fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.operator import Op
from opgen_runtime.testing.cases import Case, declaration_of
from opgen_runtime.testing.gradient import check_grad

SCALED = """
op: scaled_rows
dtypes: {T: [float16, float32, float64]}
inputs: {grad: {shape: "N, K", dtype: T}, scale: {shape: K, dtype: T}}
outputs: {out: {shape: "N, K", dtype: T}}
compute: out[n, k] = grad[n, k] * scale[k] * scale[k]
grad:
  grad: grad_out * scale * scale
  scale: "reshape(2.0 * scale * grad * grad_out, newshape=(N, K))"
reference: out = grad * scale * scale
tests: [{grad: "float64[2, 3]", scale: "float64[3]"}]
"""
ROWS = {"data": "float64[3, 5]"}
PAIR = {"lhs": "float64[3, 5]", "rhs": "float64[5]"}
SHARES = {"data": "float64[3, 5] in 0.2..0.8"}
POSITIVE = {"lhs": "float64[3, 5]", "rhs": "float64[5] in 1..2"}
MATRIX = {"a": "float64[3, 3] spd"}
SYSTEM = {**MATRIX, "b": "float64[3, 2]"}
TALL = {"a": "float64[5, 3]"}
DEGREES = {"x": "float64[3, 5]", "n": "float64[5] in 2..6"}
INPUTS = {
    "softmax": ROWS, "fast_softmax": ROWS, "log_softmax": ROWS,
    "erfinv": {"data": "float64[3, 5] in -0.5..0.5"}, "ndtr": ROWS, "ndtri": SHARES,
    "lgamma": SHARES, "digamma": SHARES, "hypot": PAIR,
    "j0": ROWS, "y0": SHARES, "y1": SHARES, "k0": SHARES, "k1": SHARES,
    "tanhshrink": ROWS, "logit": SHARES,
    "logaddexp": PAIR, "logaddexp2": PAIR, "xlogy": POSITIVE, "xlog1py": POSITIVE,
    "chebyshev_polynomial_t": DEGREES, "chebyshev_polynomial_u": DEGREES, "chebyshev_polynomial_v": DEGREES,
    "chebyshev_polynomial_w": DEGREES, "gegenbauer_polynomial": DEGREES, "hermite_polynomial_h": DEGREES,
    "hermite_polynomial_he": DEGREES, "laguerre_polynomial_l": DEGREES, "legendre_polynomial_p": DEGREES,
    "clip": ROWS, "softplus": ROWS, "softsign": ROWS,
    "det": MATRIX, "inv": MATRIX, "slogdet": MATRIX, "solve": SYSTEM, "solve_triangular": SYSTEM,
    "qr": TALL, "svd": TALL, "eigh": MATRIX, "lstsq": {**TALL, "b": "float64[5, 2]"},
    "dft": {"re_data": "float64[3, 5]", "im_data": "float64[3, 5]"},
    "conv1d": {"data": "float64[1, 2, 6]", "weight": "float64[3, 2, 3]"},
    "conv2d": {"data": "float64[1, 2, 5, 4]", "weight": "float64[3, 2, 3, 2]"},
    "conv3d": {"data": "float64[1, 1, 3, 4, 3]", "weight": "float64[2, 1, 2, 2, 2]"},
    "conv2d_transpose": {"data": "float64[1, 2, 4, 3]", "weight": "float64[2, 3, 2, 3]"},
}  # fmt: skip


def test_shapes_and_cotangents_by_the_names_of_outputs(
    package_of: Callable[[str, Sequence[str]], ModuleType],
) -> None:
    scaled = package_of("grads", [SCALED]).scaled_rows
    x, s, g = (np.random.default_rng(0).normal(size=n) for n in ((2, 3), 3, (2, 3)))
    _, pull = rt.vjp(lambda x, s: scaled(x, s), x, s)
    dx, ds = pull(g)
    np.testing.assert_allclose(dx, g * s * s)
    np.testing.assert_allclose(ds, (2 * s * x * g).sum(0))  # summed to the operand's shape
    halves = [a.astype("float16") for a in (x, s, g)]
    a, b, c = (half.astype("float32") for half in halves)
    found = rt.vjp(lambda x, s: scaled(x, s), *halves[:2])[1](halves[2])
    np.testing.assert_array_equal(found[0], (c * b * b).astype("float16"))  # rounded once
    np.testing.assert_allclose(found[1], (2 * b * a * c).sum(0), rtol=2**-11)
    check_grad(Op.get("grads.scaled_rows"), Case({"grad": "float64[2, 3]", "scale": "float64[3]"}))


OF_COMPLEX = {"fftn", "rfftn", "irfftn"}
"""Of complex operands or results, which differences do not check: tests/ops/test_fourier_transforms.py does."""


def test_every_override_is_listed_here() -> None:
    found = {name for name in ops.__all__ if declaration_of(Op.get(name)).gradients}
    assert found == set(INPUTS) | OF_COMPLEX


@pytest.mark.parametrize("name", INPUTS)
def test_a_wrong_override_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attrs = {"most": 8} if INPUTS[name] is DEGREES else {}
    op, case = Op.get(name), Case(INPUTS[name], attrs)
    check_grad(op, case)
    declaration = declaration_of(op)
    off = 1e-4 if "float64" in next(iter(INPUTS[name].values())) else 1e-1
    for key, function in declaration.gradients.items():
        monkeypatch.setitem(declaration.gradients, key, _Wrong(function, off))  # type: ignore[arg-type]  # a dict
    with pytest.raises(AssertionError):
        check_grad(op, case)


class _Wrong:
    """An override that is a little off."""

    def __init__(self, right: Callable[..., ir.Expr], off: float) -> None:
        self.right, self.off = right, off
        self.__signature__ = inspect.signature(right)

    def __call__(self, **names: object) -> ir.Expr:
        return self.right(**names) * (1.0 + self.off)


def test_exceptions_are_few() -> None:
    """Ops whose floats have no derived gradient: at most ten, each with a reason."""
    stated = {name for name in ops.__all__ if "none" in _said_of(name)}
    assert stated == {"geqrf", "geqrt", "nextafter", "non_max_suppression", "unique", "unique_consecutive"}
    assert all("take the" in str(_said_of(name)["none"]) for name in stated)  # what to write


def _said_of(name: str) -> dict[str, object]:
    found = declaration_of(Op.get(name)).traits.get("gradient", {})
    assert isinstance(found, dict)
    return found
