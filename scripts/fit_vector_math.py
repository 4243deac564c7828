"""Fit the polynomials of opgen_runtime.codegen.llvm.math; prints the body of its coefficients module.

Each function is fitted on Chebyshev nodes by weighted least squares in 60 digits, so that the weighted error is
within a small factor of the minimax one.  Coefficients are rounded to the precision one by one from the constant
term up, and those not yet rounded are fitted again, so that rounding one is made good by the others.
Run: python scripts/fit_vector_math.py > runtime/opgen_runtime/codegen/llvm/math/coefficients.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
import numpy as np

mp.mp.dps = 60
Real = mp.mpf


@dataclass(frozen=True)
class Fit:
    """P with `target(v)` about P(v) on [low, high]; `weight(v)` * error is what is made small."""

    name: str
    formula: str
    target: Callable[[Real], Real]
    weight: Callable[[Real], Real]
    low: float
    high: dict[str, float]
    degree: dict[str, int]


def series(terms: Callable[[int], Real], v: Real, count: int = 40) -> Real:
    """sum of terms(k) v**k, for targets that cancel near 0."""
    return mp.fsum(terms(k) * v**k for k in range(count))


def near_zero(exact: Callable[[Real], Real], terms: Callable[[int], Real]) -> Callable[[Real], Real]:
    return lambda v: series(terms, v) if abs(v) < 0.05 else exact(v)


def root(exact: Callable[[Real], Real]) -> Callable[[Real], Real]:
    """A function of x written as one of v = x**2."""
    return lambda v: exact(mp.sqrt(v))


def asin_term(k: int) -> Real:
    n = k + 1
    return mp.binomial(2 * n, n) / (Real(4) ** n * (2 * n + 1))


LN2_2 = 0.3466 * 1.02
one = lambda v: Real(1)  # noqa: E731
FITS = (
    Fit("exp", "exp(v) = 1 + v + v**2 P(v), |v| <= ln(2)/2",
        near_zero(lambda v: (mp.expm1(v) - v) / v**2, lambda k: 1 / mp.factorial(k + 2)),
        lambda v: abs(v) + Real("1e-3"), -LN2_2, {"float32": LN2_2, "float64": LN2_2}, {"float32": 4, "float64": 10}),
    Fit("log", "float32: log(1 + v) = v - v**2/2 + v**3 P(v), sqrt(1/2) <= 1 + v <= sqrt(2)",
        near_zero(lambda v: (mp.log1p(v) - v + v * v / 2) / v**3, lambda k: (-1) ** k * Real(1) / (k + 3)),
        lambda v: v * v + Real("1e-3"), -0.2929, {"float32": 0.4143}, {"float32": 7}),
    Fit("log_atanh", "log((1 + s)/(1 - s)) = 2 s + s v P(v), v = s**2, |s| <= 3 - 2 sqrt(2)",
        near_zero(root(lambda s: (2 * mp.atanh(s) - 2 * s) / s**3), lambda k: Real(2) / (2 * k + 3)),
        one, 0.0, {"float64": 0.02945}, {"float64": 6}),
    Fit("log_pair", "log((1 + s)/(1 - s)) = 2 s + 2/3 s**3 + s**5 P(v), v = s**2",
        near_zero(root(lambda s: (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5), lambda k: Real(2) / (2 * k + 5)),
        one, 0.0, {"float64": 0.02945}, {"float64": 8}),
    Fit("sin", "sin(x) = x + x v P(v), v = x**2, |x| <= 1.6",
        near_zero(root(lambda x: (mp.sin(x) - x) / x**3), lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3)),
        one, 0.0, {"float32": 2.56, "float64": 2.56}, {"float32": 4, "float64": 9}),
    Fit("sin_narrow", "sin(x) = x + x v P(v), v = x**2, |x| <= pi/4",
        near_zero(root(lambda x: (mp.sin(x) - x) / x**3), lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3)),
        one, 0.0, {"float32": 0.63, "float64": 0.63}, {"float32": 2, "float64": 6}),
    Fit("cos_narrow", "cos(x) = 1 - v/2 + v**2 P(v), v = x**2, |x| <= pi/4",
        near_zero(root(lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4), lambda k: (-1) ** k / mp.factorial(2 * k + 4)),
        lambda v: v + Real("1e-3"), 0.0, {"float32": 0.63, "float64": 0.63}, {"float32": 2, "float64": 5}),
    Fit("atan", "atan(x) = x + x v P(v), v = x**2, |x| <= tan(pi/8)",
        near_zero(root(lambda x: (mp.atan(x) - x) / x**3), lambda k: (-1) ** (k + 1) * Real(1) / (2 * k + 3)),
        one, 0.0, {"float32": 0.1717, "float64": 0.1717}, {"float32": 3, "float64": 10}),
    Fit("asin", "asin(x) = x + x v P(v), v = x**2, |x| <= 1/2",
        near_zero(root(lambda x: (mp.asin(x) - x) / x**3), asin_term),
        one, 0.0, {"float32": 0.25, "float64": 0.25}, {"float32": 4, "float64": 11}),
    Fit("erf_small", "erf(x) = x + x P(v), v = x**2, |x| <= 0.95",
        lambda v: (mp.erf(mp.sqrt(v)) / mp.sqrt(v) - 1) if v else 2 / mp.sqrt(mp.pi) - 1,
        one, 0.0, {"float32": 0.9025, "float64": 0.9025}, {"float32": 5, "float64": 11}),
    Fit("erf_large", "erf(t) = 1 - exp(-t + t P(t)), 0.92 <= t",
        lambda t: mp.log(mp.erfc(t)) / t + 1,
        lambda t: t * mp.erfc(t) / mp.erf(t) + Real("1e-16"), 0.92, {"float32": 4.0, "float64": 6.0},
        {"float32": 6, "float64": 20}),
)  # fmt: skip
ROUND = {"float32": lambda c: Real(float(np.float32(float(c)))), "float64": lambda c: Real(float(c))}


def solve(fit: Fit, precision: str, fixed: list[Real]) -> list[Real]:
    """The coefficients after those that are fixed."""
    degree, low, high = fit.degree[precision], Real(fit.low), Real(fit.high[precision])
    count = 3 * (degree + 1)
    nodes = [
        (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)
    ]
    free = range(len(fixed), degree + 1)
    rows, right = [], []
    for v in nodes:
        w = fit.weight(v)
        rows.append([w * v**k for k in free])
        right.append(w * (fit.target(v) - mp.fsum(c * v**k for k, c in enumerate(fixed))))
    a, b = mp.matrix(rows), mp.matrix(right)
    return list(mp.lu_solve(a.T * a, a.T * b))


def fitted(fit: Fit, precision: str) -> tuple[list[float], Real]:
    """Rounded coefficients, constant term first, and the largest weighted error."""
    done: list[Real] = []
    rounds = fit.degree[precision] + 1
    while len(done) < rounds:
        rest = solve(fit, precision, done)
        keep = 1 if precision == "float32" else rounds
        done += [ROUND[precision](c) for c in rest[:keep]]
    low, high = Real(fit.low), Real(fit.high[precision])
    points = [low + (high - low) * k / 300 for k in range(301)]
    worst = max(abs(fit.weight(v) * (fit.target(v) - mp.polyval(done[::-1], v))) for v in points)
    return [float(c) for c in done], worst


def parts(value: Real, precision: str, count: int, head_bits: int | None = None) -> list[float]:
    """`value` as a sum of numbers of the precision; the first has `head_bits` bits at most."""
    found = []
    for k in range(count):
        if k == 0 and head_bits:
            shift = head_bits - 1 - int(mp.floor(mp.log(value, 2)))
            part = mp.floor(value * Real(2) ** shift) / Real(2) ** shift
        else:
            part = ROUND[precision](value)
        found.append(float(part))
        value -= part
    return found


def listed(values: list[float]) -> str:
    return "".join(f"\n            {v!r}," for v in values) + "\n        "


def main() -> None:
    print(
        '"""Polynomials (constant term first) and split constants; made by scripts/fit_vector_math.py.\n\n'
        "Data, as long as it has to be: one table a precision is easier to compare than several files.\n"
        '"""\n'
    )
    print("from __future__ import annotations\n\nfrom typing import Final\n")
    print("POLYNOMIALS: Final[dict[str, dict[str, tuple[float, ...]]]] = {")
    for precision in ("float32", "float64"):
        print(f'    "{precision}": {{')
        for fit in FITS:
            if precision in fit.degree:
                values, worst = fitted(fit, precision)
                print(f"        # {fit.formula}\n        # weighted error 2**{float(mp.log(worst, 2)):.1f}")
                print(f'        "{fit.name}": ({listed(values)}),')
        print("    },")
    print("}\n\n# Constants as unevaluated sums of numbers of the precision, largest first.")
    print("CONSTANTS: Final[dict[str, dict[str, tuple[float, ...]]]] = {")
    for precision in ("float32", "float64"):
        head = {"float32": 15, "float64": 41}[precision]
        print(f'    "{precision}": {{')
        for name, value, count, bits in (
            ("ln2", mp.log(2), 2, head), ("pi", mp.pi, 3, None), ("half_pi", mp.pi / 2, 3, None),
            ("quarter_pi", mp.pi / 4, 2, None), ("log2e", 1 / mp.log(2), 2, None), ("log10e", 1 / mp.log(10), 2, None),
            ("log10_2", mp.log10(2), 2, head), ("inverse_pi", 1 / mp.pi, 1, None), ("two_over_pi", 2 / mp.pi, 1, None),
            ("ln2_rounded", mp.log(2), 2, None), ("two_thirds", Real(2) / 3, 2, None),
        ):  # fmt: skip
            print(f'        "{name}": ({listed(parts(value, precision, count, bits))}),')
        print("    },")
    print("}\n")
    with mp.workdps(420):
        digits = 2 / mp.pi
        words = "".join(
            f"\n    0x{int(mp.floor(digits * mp.mpf(2) ** (64 * (k + 1)))) % 2**64:016x}," for k in range(20)
        )
    print("# The binary digits of 2/pi after the point, 64 in a word.")
    print(f"TWO_OVER_PI: Final[tuple[int, ...]] = ({words}\n)")


if __name__ == "__main__":
    main()
