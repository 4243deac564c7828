"""Polynomials over atoms with integer coefficients: the normal form in which index arithmetic is compared.

A monomial is the sorted tuple of its atoms' numbers, with repetition; `()` is the constant one.  A polynomial maps
monomials to coefficients, none of them 0.  Values are never changed once made.
"""

from __future__ import annotations

from math import gcd
from typing import TypeVar

T = TypeVar("T")
Monomial = tuple[int, ...]
Poly = dict[Monomial, int]
PolyKey = frozenset[tuple[Monomial, int]]

ZERO: Poly = {}


def constant(value: int) -> Poly:
    return {(): value} if value else {}


def atom(number: int) -> Poly:
    return {(number,): 1}


def key(p: Poly) -> PolyKey:
    """A hashable that is equal for equal polynomials."""
    return frozenset(p.items())


def as_constant(p: Poly) -> int | None:
    """The value of a polynomial without atoms, else None."""
    if not p:
        return 0
    return p.get(()) if len(p) == 1 else None


def add(p: dict[T, int], q: dict[T, int], factor: int = 1) -> dict[T, int]:
    """p + factor * q; of other sums of terms with coefficients, too."""
    if not q or not factor:
        return p
    result = dict(p)
    for m, c in q.items():
        total = result.get(m, 0) + c * factor
        if total:
            result[m] = total
        else:
            del result[m]
    return result


def scale(p: Poly, factor: int) -> Poly:
    return {m: c * factor for m, c in p.items()} if factor else {}


def shift(p: Poly, value: int) -> Poly:
    """p + value."""
    return add(p, {(): value}) if value else p


def times(a: Monomial, b: Monomial) -> Monomial:
    return tuple(sorted(a + b)) if a and b else a or b


def multiply(p: Poly, q: Poly) -> Poly:
    result: Poly = {}
    for m, c in p.items():
        for n, d in q.items():
            product = times(m, n)
            total = result.get(product, 0) + c * d
            if total:
                result[product] = total
            else:
                result.pop(product, None)
    return result


def times_monomial(p: Poly, m: Monomial, factor: int) -> Poly:
    """p * factor * m."""
    return {times(n, m): c * factor for n, c in p.items()}


def quotient(m: Monomial, n: Monomial) -> Monomial | None:
    """m / n where n divides m, else None."""
    if not n:
        return m
    if len(n) > len(m):
        return None
    rest = list(m)
    for a in n:
        if a not in rest:
            return None
        rest.remove(a)
    return tuple(rest)


def divisors(m: Monomial) -> set[Monomial]:
    """All monomials that divide m, the constant one apart."""
    if len(m) == 1:
        return {m}
    found: set[Monomial] = {()}
    for a in m:
        found |= {tuple(sorted((*n, a))) for n in found}
    found.discard(())
    return found


def tighten(p: Poly) -> Poly:
    """A polynomial that is >= 0 for exactly the same integers, with coprime coefficients."""
    common = 0
    for m, c in p.items():
        if m:
            common = gcd(common, c)
            if common == 1:
                return p
    if common == 0:
        return p
    return {m: c // common for m, c in p.items() if c // common}


def substitute(p: Poly, number: int, value: Poly) -> Poly:
    """p with the atom `number` replaced by `value`."""
    kept: Poly = {}
    changed: Poly = {}
    for m, c in p.items():
        power = m.count(number)
        if not power:
            kept[m] = c
            continue
        term: Poly = {tuple(a for a in m if a != number): c}
        for _ in range(power):
            term = multiply(term, value)
        changed = add(changed, term)
    return add(kept, changed) if changed else kept


def divide_constant(p: Poly, divisor: int) -> tuple[Poly, Poly]:
    """(q, r) with p == q * divisor + r.

    The constant of r is in 0 <= r < divisor; its other coefficients are those that `divisor` does not divide.
    """
    q: Poly = {}
    r: Poly = {}
    for m, c in p.items():
        whole = c // divisor if not m or c % divisor == 0 else 0
        if whole:
            q[m] = whole
        if c != whole * divisor:
            r[m] = c - whole * divisor
    return q, r


def divide_monomial(p: Poly, m: Monomial, coefficient: int) -> tuple[Poly, Poly]:
    """(q, r) with p == q * coefficient * m + r, and no term of r divisible."""
    q: Poly = {}
    r: Poly = {}
    for n, c in p.items():
        rest = quotient(n, m)
        if rest is None or c % coefficient:
            r[n] = c
        else:
            q[rest] = c // coefficient
    return q, r


def divide_exact(p: Poly, d: Poly) -> tuple[Poly, Poly]:
    """(q, r) with p == q * d + r, by the leading term of d (highest degree first)."""
    lead = max(d, key=lambda m: (len(m), m))
    factor = d[lead]
    q: Poly = {}
    r = dict(p)
    for _ in range(len(p) + 4):
        step = next(
            (
                (rest, c // factor)
                for m, c in r.items()
                if (rest := quotient(m, lead)) is not None and c % factor == 0
            ),
            None,
        )
        if step is None:
            break
        q = add(q, {step[0]: step[1]})
        r = add(r, times_monomial(d, step[0], step[1]), -1)
    return q, r
