"""Errors of the element functions in units in the last place: `python -m tests.ulp [--samples N]`.

Every op of `EXACT` is run compiled over bit patterns of all exponents, over the intervals where it bends, and around
its ends, and is held against mpmath, whose result is taken as exact.  The table of docs/reliability.md states the
bounds; tests/codegen/test_ulp.py holds a quick sample against it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import ml_dtypes
import mpmath
import numpy as np
from mpmath import mpf

from opgen_runtime.run.calls import eager

DTYPES = {
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
PRECISION = 1200  # bits: enough to reduce any float64 by pi
_ENDS = (
    0.5,
    0.92,
    1.0,
    6.19,
    9.35,
    10.1,
    13.4,
    17.5,
    26.5,
    38.5,
    88.0,
    88.8,
    103.5,
    104.0,
    709.5,
    745.0,
    1e4,
)


def _sigmoid(x: mpf) -> mpf:
    return 1 / (1 + mpmath.exp(-x))


def _mish(x: mpf) -> mpf:
    e = mpmath.exp(x)
    return x * e * (e + 2) / (e * (e + 2) + 2)


def _gelu_tanh(x: mpf) -> mpf:
    return x * _sigmoid(2 * mpmath.sqrt(2 / mpmath.pi) * (x + mpf(0.044715) * x**3))


def _ndtr(x: mpf) -> mpf:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _erfcx(x: mpf) -> mpf:
    """Its asymptotic series where the rest is below every precision at hand; far below 0 it overflows."""
    if x > 1e10:
        return (1 - 1 / (2 * x * x)) / (x * mpmath.sqrt(mpmath.pi))
    return mpmath.exp(x * x) * mpmath.erfc(x) if x > -1e3 else mpmath.nan


def _erfinv(x: mpf) -> mpf:
    """Beyond +-1 there is none, and at them a pole."""
    with mpmath.workprec(140):
        return mpmath.erfinv(x) if abs(x) < 1 else mpmath.nan


def _ndtri(p: mpf) -> mpf:
    """By Newton's method on the logarithm of the probability, from the tail inwards."""
    if not 0 < p < 1:
        return mpmath.nan
    with mpmath.workprec(300):
        least = min(p, 1 - p)
        x = -mpmath.sqrt(-2 * mpmath.log(least))
        for _ in range(12):
            chance = _ndtr(x)
            density = mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)
            x -= mpmath.log(chance / least) * chance / density
        return x if p < 0.5 else -x


def _lgamma(x: mpf) -> mpf:
    """Stirling's formula where the rest is below every precision at hand."""
    if x < 1e10:
        return mpmath.loggamma(x)
    return (x - mpf(0.5)) * mpmath.log(x) - x + mpmath.log(2 * mpmath.pi) / 2 + 1 / (12 * x)


def _above_0(function: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """Below 0 it has a zero between any two poles, about which no error is small beside the result."""
    return lambda x: _in_200_bits(function, x) if x > 0 else mpmath.nan


def _bessel(function: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """Up to where mpmath's series stay short."""
    return lambda x: _in_200_bits(function, x) if abs(x) < 1e5 else mpmath.nan


def _bessel_above_0(function: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    return lambda x: _in_200_bits(function, x) if 0 < x < 1e5 else mpmath.nan


def _modulus(order: int) -> Callable[[mpf], mpf]:
    """How far J and Y swing about an operand; at most 1, since J stays so near 0, where Y has its pole."""
    return lambda x: min(mpf(1), abs(mpmath.hankel1(order, abs(x)))) if x else mpf(0)


def _in_200_bits(function: Callable[[mpf], mpf], x: mpf) -> mpf:
    with mpmath.workprec(200):
        return function(x)


EXACT: dict[str, Callable[[mpf], mpf]] = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.power(2, x), "expm1": mpmath.expm1, "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2), "log10": mpmath.log10, "log1p": mpmath.log1p, "sqrt": mpmath.sqrt,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan,
    "asin": mpmath.asin, "acos": mpmath.acos, "atan": mpmath.atan, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
    "tanh": mpmath.tanh, "asinh": mpmath.asinh, "acosh": mpmath.acosh, "atanh": mpmath.atanh, "erf": mpmath.erf,
    "sigmoid": _sigmoid, "gelu": lambda x: x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2, "gelu (tanh)": _gelu_tanh,
    "silu": lambda x: x * _sigmoid(x), "mish": _mish, "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "elu": lambda x: x if x >= 0 else mpmath.expm1(x), "softsign": lambda x: x / (1 + abs(x)),
    "reciprocal": lambda x: 1 / x,
    "erfc": mpmath.erfc, "erfcx": _erfcx, "erfinv": _erfinv, "ndtr": _ndtr, "log_ndtr": lambda x: mpmath.log(_ndtr(x)),
    "ndtri": _ndtri, "lgamma": _above_0(_lgamma), "digamma": _above_0(mpmath.digamma),
    "trigamma": _above_0(lambda x: mpmath.polygamma(1, x)),
    "i0": _bessel(lambda x: mpmath.besseli(0, x)), "i1": _bessel(lambda x: mpmath.besseli(1, x)),
    "i0e": _bessel(lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x))),
    "i1e": _bessel(lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x))),
    "j0": _bessel(lambda x: mpmath.besselj(0, x)), "j1": _bessel(lambda x: mpmath.besselj(1, x)),
    "y0": _bessel_above_0(lambda x: mpmath.bessely(0, x)), "y1": _bessel_above_0(lambda x: mpmath.bessely(1, x)),
    "k0": _bessel_above_0(lambda x: mpmath.besselk(0, x)), "k1": _bessel_above_0(lambda x: mpmath.besselk(1, x)),
    "k0e": _bessel_above_0(lambda x: mpmath.besselk(0, x) * mpmath.exp(x)),
    "k1e": _bessel_above_0(lambda x: mpmath.besselk(1, x) * mpmath.exp(x)),
    "spherical_bessel_j0": mpmath.sinc,
    "sinc": mpmath.sincpi, "log_sigmoid": lambda x: -mpmath.log1p(mpmath.exp(-x)),
}  # fmt: skip
"""Op (with `approximate` in parentheses) -> the function that it means."""
SWINGS: dict[str, Callable[[mpf], mpf]] = {
    "j0": _modulus(0),
    "j1": _modulus(1),
    "y0": _modulus(0),
    "y1": _modulus(1),
}
"""Op -> how far it swings: about its zeros, which are beyond 1/2, the error counts in units of that."""


def samples(dtype: np.dtype, count: int, seed: int = 0) -> np.ndarray:
    """About `count` finite numbers of `dtype`: random bits, intervals around 0, and neighbours of the ends."""
    random = np.random.default_rng(seed)
    part = max(count // 4, 8)
    bits = np.frombuffer(random.bytes(part * dtype.itemsize), f"u{dtype.itemsize}").view(dtype)
    near = [random.uniform(-reach, reach, part // 2) for reach in (1.0, 4.0, 15.0, 110.0, 750.0)]
    ends = np.array(_ENDS)[:, None] * (1 + random.uniform(-0.01, 0.01, (len(_ENDS), max(part // 40, 1))))
    with np.errstate(all="ignore"):
        rest = np.concatenate([*near, ends.ravel(), -ends.ravel()]).astype(dtype)
        found = np.concatenate([bits, rest, np.array([0.0, 1.0, -1.0]).astype(dtype)])
        wide = found.astype(np.float64)
    return found[np.isfinite(wide)]


def errors(name: str, x: np.ndarray) -> Iterator[tuple[float, float, float]]:
    """(operand, result, its error in ULP) wherever the function is real and finite."""
    op, _, approximate = name.rstrip(")").partition(" (")
    attrs = {"approximate": approximate} if approximate else {}
    got = np.asarray(getattr(eager, op)(x, **attrs))
    highest, step = _limits(x.dtype)
    with mpmath.workprec(PRECISION):
        for operand, result in zip(
            x.astype(np.float64).tolist(), got.astype(np.float64).tolist(), strict=True
        ):
            exact = _exact(EXACT[name], operand)
            if exact is None:
                continue
            if abs(exact) >= highest[1]:  # rounds to infinity
                error = 0.0 if result in (np.inf, -np.inf) and (result > 0) == (exact > 0) else np.inf
            elif not np.isfinite(result):
                error = np.inf
            else:
                error = float(abs(mpf(result) - exact) / _spacing(_size(name, operand, exact), x.dtype, step))
            yield operand, result, error


def _size(name: str, operand: float, exact: mpf) -> mpf:
    """What the error of a result is small beside."""
    if name not in SWINGS or abs(operand) < 0.5:
        return exact
    return max(abs(exact), _in_200_bits(SWINGS[name], mpf(operand)))


def _exact(function: Callable[[mpf], mpf], operand: float) -> mpf | None:
    try:
        exact = function(mpf(operand))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None  # a pole
    return exact if isinstance(exact, mpf) and mpmath.isfinite(exact) else None


def _limits(dtype: np.dtype) -> tuple[tuple[mpf, mpf], tuple[int, int]]:
    """((greatest finite, least that rounds to infinity), (bits of the fraction, least normal exponent))."""
    info = ml_dtypes.finfo(dtype)
    fraction, least = int(info.nmant), int(info.minexp)
    highest = mpf(float(info.max))
    return (highest, highest + mpf(2) ** (int(info.maxexp) - fraction - 2)), (fraction, least)


def _spacing(exact: mpf, dtype: np.dtype, step: tuple[int, int]) -> mpf:
    """The distance of the numbers of the dtype about `exact`."""
    fraction, least = step
    exponent = least if exact == 0 else max(int(mpmath.floor(mpmath.log(abs(exact), 2))), least)
    return mpf(2) ** (exponent - fraction)


def worst(name: str, dtype: str, count: int, seed: int = 0) -> tuple[float, float, float]:
    """(operand, result, error in ULP) where the error is greatest."""
    return max(errors(name, samples(DTYPES[dtype], count, seed)), key=lambda found: found[2])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.ulp", description=__doc__)
    parser.add_argument("--samples", type=int, default=4000, help="numbers an op and dtype")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("only", nargs="*", help="ops; all by default")
    options = parser.parse_args()
    print(f"| | {' | '.join(DTYPES)} |\n|---|{'---|' * len(DTYPES)}")
    for name in options.only or EXACT:
        found = [worst(name, dtype, options.samples, options.seed) for dtype in DTYPES]
        print(f"| {name} | {' | '.join(f'{error:.2f}' for _, _, error in found)} |", flush=True)


if __name__ == "__main__":
    main()
