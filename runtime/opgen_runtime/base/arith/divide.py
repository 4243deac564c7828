"""Quotients and remainders of polynomials."""

from __future__ import annotations

from math import gcd

from . import polynomial as poly
from .polynomial import Monomial, Poly
from .prover import Prover


class Divider(Prover):
    """Floor division in normal form: (i*n + j) // n is i where 0 <= j < n."""

    __slots__ = ()

    def divide(self, x: Poly, y: Poly) -> tuple[Poly, Poly]:
        """(x // y, x % y) with the run-time meaning: both are 0 where y is 0."""
        c = poly.as_constant(y)
        if c is not None:
            return self._by_constant(x, c)
        return self._by_poly(x, y)

    def _atoms(self, x: Poly, y: Poly) -> tuple[Poly, Poly]:
        if not x:
            return {}, {}
        return poly.atom(self._division_atom("div", x, y)), poly.atom(self._division_atom("mod", x, y))

    def _division_atom(self, kind: str, x: Poly, y: Poly) -> int:
        key = (kind, poly.key(x), poly.key(y))
        number = self.table.find(key)
        if number is None:
            tame = all(
                self.table.atoms[a].below and self.table.atoms[a].above
                for p in ((x, y) if kind == "div" else (y,))
                for m in p
                for a in m
            )
            number = self.table.make(key, kind, None, x=x, y=y, tame=(tame, tame))
        return number

    def _by_constant(self, x: Poly, c: int) -> tuple[Poly, Poly]:
        if c == 0:
            return {}, {}
        value = poly.as_constant(x)
        if value is not None:
            return poly.constant(value // c), poly.constant(value % c)
        if c == 1:
            return x, {}
        if c < 0:
            return self._atoms(x, poly.constant(c))
        q, r = poly.divide_constant(x, c)
        bounds = self.range(r)
        if bounds.lo is not None and bounds.hi is not None and bounds.lo // c == bounds.hi // c:
            block = bounds.lo // c
        elif (any(r) and self._below(r, poly.constant(c))) or not any(r):
            block = 0
        else:
            quotient, remainder = self._reduced(r, c)
            return poly.add(q, quotient), remainder
        return poly.shift(q, block), poly.shift(r, -block * c)

    def _below(self, r: Poly, y: Poly) -> bool:
        """0 <= r < y, with little work."""
        with self.fuel(40):
            return self.nonneg(r) and self.nonneg(poly.shift(poly.add(y, r, -1), -1))

    def _reduced(self, r: Poly, c: int) -> tuple[Poly, Poly]:
        """r // c and r % c for c > 1, where r is not known to lie within one multiple of c."""
        common = gcd(c, *(d for m, d in r.items() if m))
        if common > 1:
            offset = r.get((), 0)
            inner = {m: d // common for m, d in r.items() if m}
            inner = poly.shift(inner, offset // common)
            quotient, remainder = self._by_constant(inner, c // common)
            return quotient, poly.shift(poly.scale(remainder, common), offset % common)
        quotient, remainder = self._atoms(r, poly.constant(c))
        terms = [m for m in r if m]
        if len(terms) == 1 and r[terms[0]] == 1 and len(terms[0]) == 1:
            atom = self.table.atoms[terms[0][0]]
            offset = r.get((), 0)
            inner_c = poly.as_constant(atom.y) if atom.kind in ("div", "mod") else None
            if inner_c is not None and inner_c > 0:
                if atom.kind == "div":  # (t // a + k) // c is (t + k * a) // (a * c)
                    quotient = self._by_constant(poly.shift(atom.x, offset * inner_c), inner_c * c)[0]
                elif inner_c % c == 0:  # (t % (j * c) + k) % c is (t + k) % c
                    remainder = self._by_constant(poly.shift(atom.x, offset), c)[1]
        return quotient, remainder

    def _by_poly(self, x: Poly, y: Poly) -> tuple[Poly, Poly]:
        if not x:
            return {}, {}
        if not self.positive(y):
            y_range = self.range(y)
            if y_range.lo == 0 and self._below(x, y):
                return {}, x  # for y == 0 there is no such x
            return self._maybe_nested(x, y)
        if len(y) == 1:
            (m, c) = next(iter(y.items()))
            q, r = poly.divide_monomial(x, m, c) if c > 0 else ({}, x)
        else:
            q, r = poly.divide_exact(x, y)
        if not r or self._below(r, y):
            return q, r
        above = poly.add(r, y)
        if self._below(above, y):  # -y <= r < 0
            return poly.shift(q, -1), above
        if len(y) == 1 and q:
            quotient, remainder = self._maybe_nested(r, y)
            return poly.add(q, quotient), remainder
        return self._maybe_nested(x, y)

    def _maybe_nested(self, x: Poly, y: Poly) -> tuple[Poly, Poly]:
        """(t // a) // b is t // (a * b) for a, b >= 0."""
        quotient, remainder = self._atoms(x, y)
        if len(x) == 1:
            (m, c) = next(iter(x.items()))
            if c == 1 and len(m) == 1:
                atom = self.table.atoms[m[0]]
                if atom.kind == "div" and self._natural(atom.y) and self._natural(y):
                    product = poly.multiply(atom.y, y)
                    quotient = poly.atom(self._division_atom("div", atom.x, product))
        return quotient, remainder

    def _natural(self, p: Poly) -> bool:
        lo = self.range(p).lo
        return lo is not None and lo >= 0

    def fold_remainders(self, p: Poly) -> Poly:
        """p with (x // y) * y + x % y replaced by x."""
        for m, c in p.items():
            for number in m:
                atom = self.table.atoms[number]
                if atom.kind != "mod":
                    continue
                divisor = poly.as_constant(atom.y)
                if divisor is not None and divisor <= 0:
                    continue
                if divisor is None and not self._natural(atom.y):
                    continue
                rest = list(m)
                rest.remove(number)
                product = poly.multiply(self.divide(atom.x, atom.y)[0], atom.y)
                product = poly.times_monomial(product, tuple(rest), c)
                if (
                    product
                    and all(p.get(n) == d for n, d in product.items())
                    and self._whole(atom.y, divisor)
                ):
                    replaced = poly.add(poly.add(p, product, -1), {m: c}, -1)
                    return self.fold_remainders(
                        poly.add(replaced, poly.times_monomial(atom.x, tuple(rest), c))
                    )
                joined = None if divisor is None else self._joined(p, m, number, divisor)
                if joined is not None:
                    return self.fold_remainders(joined)
        return p

    def _joined(self, p: Poly, m: Monomial, number: int, c: int) -> Poly | None:
        """p with (t % (j * c)) // c * c + t % c, the latter the atom `number` of `m`, replaced by t % (j * c)."""
        rest = poly.quotient(m, (number,))
        for n, factor in p.items():
            if factor != p[m] * c:
                continue
            for digit in n:
                atom = self.table.atoms[digit]
                if atom.kind != "div" or poly.as_constant(atom.y) != c or poly.quotient(n, (digit,)) != rest:
                    continue
                whole = next(iter(atom.x))
                if atom.x != {whole: 1} or len(whole) != 1:
                    continue
                outer = self.table.atoms[whole[0]]
                modulus = poly.as_constant(outer.y) if outer.kind == "mod" else None
                if modulus and modulus % c == 0 and outer.x == self.table.atoms[number].x:
                    replaced = poly.add(poly.add(p, {m: p[m]}, -1), {n: factor}, -1)
                    assert rest is not None
                    return poly.add(replaced, poly.times_monomial(atom.x, rest, p[m]))
        return None

    def _whole(self, y: Poly, divisor: int | None) -> bool:
        """The divisor is not 0, for which (x // 0) * 0 + x % 0 is 0 and not x."""
        return divisor is not None or self.positive(y)
