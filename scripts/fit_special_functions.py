"""Fit the polynomials of special functions; prints them as `def`s of the compute language.

Each target is expanded in Chebyshev polynomials of s in -1..1, in 60 digits, from its values (by mpmath) at Chebyshev
nodes; terms below 1e-18 of the sum are left out, and the rest is written in powers of s and rounded to float64.
Run: python scripts/fit_special_functions.py [name...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp

mp.mp.dps = 60
Real = mp.mpf
NODES = 80
LEAST = Real("1e-18")
TERMS = 9  # of a `def`


@dataclass(frozen=True)
class Fit:
    """`target(x(s))` about P(s) on -1 <= s <= 1."""

    name: str
    formula: str
    target: Callable[[Real], Real]
    x: Callable[[Real], Real]


def below_8(s: Real) -> Real:
    """x where x**2 / 32 - 1 is s."""
    return mp.sqrt(32 * (s + 1))


def above_8(s: Real) -> Real:
    """x where 128 / x**2 - 1 is s."""
    return mp.sqrt(128 / (s + 1))


def below_2(s: Real) -> Real:
    """x where x**2 / 2 - 1 is s."""
    return mp.sqrt(2 * (s + 1))


def above_2(s: Real) -> Real:
    """x where 4 / x - 1 is s."""
    return 4 / (s + 1)


def above_0(s: Real) -> Real:
    """x where 1 - 4 / (x + 2) is s."""
    return 4 / (1 - s) - 2


def regular_y(order: int) -> Callable[[Real], Real]:
    """What Y is more than its logarithm and its pole, by x where the order is 1."""

    def target(x: Real) -> Real:
        rest = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
        return rest if order == 0 else (rest + 2 / (mp.pi * x)) / x

    return target


def regular_k(order: int) -> Callable[[Real], Real]:
    """What K is more than its logarithm and its pole, by x where the order is 1."""

    def target(x: Real) -> Real:
        rest = mp.besselk(order, x) + (-1) ** order * mp.log(x / 2) * mp.besseli(order, x)
        return rest if order == 0 else (rest - 1 / x) / x

    return target


def modulated(order: int, part: int) -> Callable[[Real], Real]:
    """P (part 0) or x Q (part 1): J + i Y = sqrt(2 / (pi x)) (P + i Q) exp(i (x - (order / 2 + 1 / 4) pi))."""

    def target(x: Real) -> Real:
        phase = x - (Real(order) / 2 + Real(1) / 4) * mp.pi
        value = mp.mpc(mp.besselj(order, x), mp.bessely(order, x))
        turned = value * mp.expj(-phase) * mp.sqrt(mp.pi * x / 2)
        return turned.real if part == 0 else turned.imag * x

    return target


def scaled_k(order: int) -> Callable[[Real], Real]:
    return lambda x: mp.besselk(order, x) * mp.exp(x) * mp.sqrt(x)


def scaled_erfc(x: Real) -> Real:
    return mp.exp(x * x) * mp.erfc(x) * (x + 2)


FITS = (
    Fit("j0", "J0(x), x**2 / 32 - 1 = s", lambda x: mp.besselj(0, x), below_8),
    Fit("j1", "J1(x) / x, x**2 / 32 - 1 = s", lambda x: mp.besselj(1, x) / x, below_8),
    Fit("y0", "Y0(x) - 2 / pi log(x) J0(x), x**2 / 32 - 1 = s", regular_y(0), below_8),
    Fit("y1", "(Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x, x**2 / 32 - 1 = s", regular_y(1), below_8),
    Fit("p0", "P of order 0, 128 / x**2 - 1 = s", modulated(0, 0), above_8),
    Fit("q0", "x Q of order 0, 128 / x**2 - 1 = s", modulated(0, 1), above_8),
    Fit("p1", "P of order 1, 128 / x**2 - 1 = s", modulated(1, 0), above_8),
    Fit("q1", "x Q of order 1, 128 / x**2 - 1 = s", modulated(1, 1), above_8),
    Fit("k0", "K0(x) + log(x / 2) I0(x), x**2 / 2 - 1 = s", regular_k(0), below_2),
    Fit("k1", "(K1(x) - log(x / 2) I1(x) - 1 / x) / x, x**2 / 2 - 1 = s", regular_k(1), below_2),
    Fit("l0", "I0(x), x**2 / 2 - 1 = s", lambda x: mp.besseli(0, x), below_2),
    Fit("l1", "I1(x) / x, x**2 / 2 - 1 = s", lambda x: mp.besseli(1, x) / x, below_2),
    Fit("m0", "K0(x) exp(x) sqrt(x), 4 / x - 1 = s", scaled_k(0), above_2),
    Fit("m1", "K1(x) exp(x) sqrt(x), 4 / x - 1 = s", scaled_k(1), above_2),
    Fit("scaled", "exp(x**2) erfc(x) (x + 2), 1 - 4 / (x + 2) = s", scaled_erfc, above_0),
)


def chebyshev(fit: Fit) -> list[Real]:
    """The coefficients of T_0, T_1, ... that matter."""
    angles = [mp.pi * (2 * k + 1) / (2 * NODES) for k in range(NODES)]
    values = [fit.target(fit.x(mp.cos(angle))) for angle in angles]
    found = [
        2
        * mp.fsum(value * mp.cos(order * angle) for value, angle in zip(values, angles, strict=True))
        / NODES
        for order in range(NODES)
    ]
    found[0] /= 2
    while abs(found[-1]) < LEAST * max(map(abs, found)):
        found.pop()
    return found


def powers(coefficients: list[Real]) -> list[Real]:
    """The same polynomial in powers of s."""
    total = [Real(0)] * len(coefficients)
    earlier, now = [Real(0)], [Real(1)]
    for order, coefficient in enumerate(coefficients):
        for power, each in enumerate(now):
            total[power] += coefficient * each
        doubled = [Real(0), *((1 if order == 0 else 2) * each for each in now)]
        padded = [*earlier, *[Real(0)] * (len(doubled) - len(earlier))]
        earlier, now = now, [a - b for a, b in zip(doubled, padded, strict=True)]
    return total


def written(name: str, coefficients: list[Real]) -> list[str]:
    """Horner's scheme, `TERMS` coefficients a `def`."""
    parts = [coefficients[start : start + TERMS] for start in range(0, len(coefficients), TERMS)]
    lines = []
    for position, part in enumerate(parts):
        text = f"{name}{position + 1}(s)" if position + 1 < len(parts) else ""
        for each in reversed(part):
            factor = f"({text})" if " " in text else text
            text = f"{float(each)!r} + s * {factor}" if text else repr(float(each))
        lines.append(f"def {name}{position or ''}(s): return {text}")
    return lines


def main() -> None:
    for fit in FITS:
        if not sys.argv[1:] or fit.name in sys.argv[1:]:
            print(f"# {fit.formula}", *written(fit.name, powers(chebyshev(fit))), sep="\n")


if __name__ == "__main__":
    main()
