"""The search for proofs that a polynomial is at least 0.

A polynomial is at least 0 if it is a sum of known facts (each >= 0), times products that are >= 0, and terms that are
>= 0 themselves.  The search takes a term whose sign is wrong or unknown and subtracts a multiple of a fact that cancels
it (Fourier and Motzkin's elimination, guided by the terms).  Quotients are multiplied out, and minima, maxima, choices
and tables are tried case by case.  It is bounded by fuel, so a False means "not proved".
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from math import gcd
from typing import Final

from . import polynomial as poly
from .atoms import Atom, AtomTable
from .context import Context
from .expr import Expr, Select
from .intervals import Interval
from .polynomial import Monomial, Poly, PolyKey

_FUEL: Final = 300
_DEPTH: Final = 12
_CASES: Final = 5  # nested case distinctions
_TABLE_CASES: Final = 32
_ANYTHING: Final = Interval()
_ONE: Final = Interval(1, 1)


class Prover(ABC):
    """Ranges and proofs about polynomials in the current context."""

    __slots__ = ("_cases", "_fuel", "_open", "context", "table")

    def __init__(self) -> None:
        self.table = AtomTable()
        self.context = Context()
        self._fuel: int | None = None
        self._cases = 0
        self._open: set[int] = set()

    @abstractmethod
    def assume(self, condition: Expr) -> AbstractContextManager[None]:
        """A scope in which `condition` holds."""

    @abstractmethod
    def holds(self, condition: Expr) -> bool | None:
        """Whether `condition` is known to be true or false."""

    @abstractmethod
    def divide(self, x: Poly, y: Poly) -> tuple[Poly, Poly]:
        """(x // y, x % y)."""

    # Ranges

    def atom_range(self, number: int) -> Interval:
        """The least known interval of an atom."""
        cache = self.context.atom_ranges
        found = cache.get(number)
        if found is None:
            atom = self.table.atoms[number]
            found = cache[number] = atom.range.meet(self.context.ranges.get(number, _ANYTHING))
            if atom.kind not in ("var", "element"):
                found = found.meet(self._derived_range(atom))
                self.context.atom_ranges[number] = found
        return found

    def _derived_range(self, atom: Atom) -> Interval:
        if atom.kind in ("min", "max"):
            x, y = self.range(atom.x), self.range(atom.y)
            joined = x.join(y)
            if atom.kind == "min":
                return Interval(joined.lo, x.meet(y).hi)
            return Interval(x.meet(y).lo, joined.hi)
        if atom.kind == "bounded":
            return Interval(self.range(atom.x).lo, self.range(atom.y).hi)
        if atom.kind == "select":
            return self._select_range(atom)
        if atom.kind in ("div", "mod"):
            return self._division_range(atom)
        return _ANYTHING

    def _select_range(self, atom: Atom) -> Interval:
        assert isinstance(atom.expr, Select)
        if atom.number in self._open:  # its condition speaks of itself, by way of what is assumed
            return _ANYTHING
        self._open.add(atom.number)
        try:
            with self.assume(atom.expr.condition):
                then = None if self.context.impossible else self.range(atom.x)
            with self.negate(atom.expr.condition):
                other = None if self.context.impossible else self.range(atom.y)
        finally:
            self._open.discard(atom.number)
        if then is None or other is None:
            return then or other or _ANYTHING
        return then.join(other)

    @abstractmethod
    def negate(self, condition: Expr) -> AbstractContextManager[None]:
        """A scope in which `condition` does not hold."""

    def _division_range(self, atom: Atom) -> Interval:
        x, y = self.range(atom.x), self.range(atom.y)
        if y.lo is None or y.lo < 0:
            if y.hi is not None and y.hi < 0 and atom.kind == "mod" and y.lo is not None:
                return Interval(y.lo + 1, 0)
            return _ANYTHING
        natural = (x.lo is not None and x.lo >= 0) or self.nonneg(atom.x)
        if atom.kind == "mod":
            hi = None if y.hi is None else max(y.hi - 1, 0)
            return Interval(0, hi).meet(Interval(None, x.hi) if natural else _ANYTHING)
        if y.is_point and y.lo > 0:
            quotient = x.floordiv(y.lo)
            return quotient.meet(Interval(0, None)) if natural else quotient
        if natural:
            return Interval(0, None if x.hi is None else x.hi // max(y.lo, 1))
        return _ANYTHING

    def monomial_range(self, m: Monomial) -> Interval:
        if not m:
            return _ONE
        if len(m) == 1:
            return self.atom_range(m[0])
        found = self.atom_range(m[0])
        for previous, number in zip(m, m[1:], strict=False):
            found = found * self.atom_range(number)
            if len(m) == 2 and previous == number:
                found = found.meet(Interval(0, None))
        return found

    def range(self, p: Poly) -> Interval:
        """The sum of the ranges of the terms."""
        lo: int | None = 0
        hi: int | None = 0
        for m, c in p.items():
            r = self.monomial_range(m)
            low, high = (r.lo, r.hi) if c > 0 else (r.hi, r.lo)
            lo = None if lo is None or low is None else lo + low * c
            hi = None if hi is None or high is None else hi + high * c
            if lo is None and hi is None:
                break
        return Interval(lo, hi)

    # Facts about atoms

    def atom_facts(self, number: int) -> tuple[Poly, ...]:
        """Polynomials >= 0 that hold for an atom because of what it is, and its range."""
        cache = self.context.atom_facts
        found = cache.get(number)
        if found is None:
            cache[number] = ()  # a proof that is needed on the way does not come back here
            found = tuple(self._facts_of(self.table.atoms[number]))
            self.context.atom_facts[number] = found
        return found

    def _facts_of(self, atom: Atom) -> Iterator[Poly]:
        a: Poly = {(atom.number,): 1}
        r = self.atom_range(atom.number)
        if r.lo is not None:
            yield poly.shift(a, -r.lo)
        if r.hi is not None:
            yield poly.shift(poly.scale(a, -1), r.hi)
        if atom.kind == "min":
            yield poly.add(atom.x, a, -1)
            yield poly.add(atom.y, a, -1)
        elif atom.kind == "max":
            yield poly.add(a, atom.x, -1)
            yield poly.add(a, atom.y, -1)
        elif atom.kind == "bounded":
            yield poly.add(a, atom.x, -1)
            yield poly.add(atom.y, a, -1)
        elif atom.kind in ("div", "mod"):
            yield from self._division_facts(atom, a)

    def _division_facts(self, atom: Atom, a: Poly) -> Iterator[Poly]:
        x, y = atom.x, atom.y
        y_range = self.range(y)
        if y_range.lo is None or y_range.lo < 0:
            return
        natural = self.nonneg(x)
        positive = self.positive(y)
        if natural:
            yield poly.add(x, a, -1)
        if not positive:
            return
        if atom.kind == "mod":
            yield poly.shift(poly.add(y, a, -1), -1)
            return
        product = poly.multiply(a, y)
        yield poly.add(x, product, -1)
        yield poly.shift(poly.add(poly.add(product, y), x, -1), -1)
        for choice in (0, -1):
            last = self._bound(x, True, choice)
            if last is not None:
                yield poly.add(self.divide(last, y)[0], a, -1)
            first = self._bound(x, False, choice)
            if first is not None:
                yield poly.add(a, self.divide(first, y)[0], -1)

    def _bound(self, p: Poly, upper: bool, choice: int) -> Poly | None:
        """A bound of p, with the atoms that have a known bound replaced by it; None where there is none."""
        found: Poly | None = None
        for _ in range(8):
            step = self._replace_last(p, upper, choice)
            if step is None:
                break
            p = found = step
        return found

    def _replace_last(self, p: Poly, upper: bool, choice: int) -> Poly | None:
        """p with its last atom replaced by the bound on the side that makes it a bound of p."""
        for number in sorted({n for m in p for n in m}, reverse=True):
            terms = {m: c for m, c in p.items() if number in m}
            signs = {c > 0 for c in terms.values()}
            rests = [poly.quotient(m, (number,)) or () for m in terms]
            if len(signs) != 1 or any(number in r or not self._nonneg_monomial(r) for r in rests):
                continue
            want_upper = signs.pop() == upper
            facts = [
                fact
                for fact in self.context.facts.get(((number,), not want_upper), ())
                if abs(fact[(number,)]) == 1 and sum(number in m for m in fact) == 1
            ]
            if facts:
                fact = facts[choice]
                bound = poly.add(fact, {(number,): 1}, 1 if want_upper else -1)
                return poly.substitute(p, number, bound if want_upper else poly.scale(bound, -1))
        return None

    # Proofs

    @contextmanager
    def fuel(self, amount: int) -> Iterator[None]:
        """Bound the work of the proofs inside."""
        before = self._fuel
        self._fuel = amount if before is None else min(amount, before)
        spent_from = self._fuel
        try:
            yield
        finally:
            left = self._fuel or 0
            self._fuel = None if before is None else before - (spent_from - left)

    def nonneg(self, p: Poly) -> bool:
        """p >= 0 for certain."""
        r = self.range(p)
        if r.lo is not None and r.lo >= 0:
            return True
        if self.context.impossible:
            return True
        if (r.hi is not None and r.hi < 0) or not any(p):
            return False
        if self._fuel is not None:
            return self._search(p, 0, set())
        with self.fuel(_FUEL):
            return self._search(p, 0, set())

    def positive(self, p: Poly) -> bool:
        """p >= 1 for certain."""
        r = self.range(p)
        if r.lo is not None and r.lo >= 1:
            return True
        if len(p) == 1:
            (m, c) = next(iter(p.items()))
            if c > 0 and m and all(self._positive_atom(a) for a in set(m)):
                return True
        return self.nonneg(poly.shift(p, -1))

    def _positive_atom(self, number: int) -> bool:
        """Also because a product that holds it is positive, and its factors are not negative."""
        lo = self.atom_range(number).lo
        if lo is None or lo < 0:
            return False
        if lo >= 1 or self.nonneg({(number,): 1, (): -1}):
            return True
        products = {m for m, _ in self.context.facts if len(m) > 1 and number in m and self._nonneg_monomial(m)}
        for m in products:
            if self.nonneg({m: 1, (): -1}):
                self.context.add({(number,): 1, (): -1})
                return True
        return False

    def _nonneg_monomial(self, m: Monomial) -> bool:
        lo = self.monomial_range(m).lo
        return lo is not None and lo >= 0

    def _is_bad(self, m: Monomial, c: int) -> bool:
        """The term may be negative."""
        if not m:
            return c < 0
        r = self.monomial_range(m)
        return (r.lo is None or r.lo < 0) if c > 0 else (r.hi is None or r.hi > 0)

    def _search(self, p: Poly, depth: int, seen: set[PolyKey]) -> bool:
        p = poly.tighten(p)
        r = self.range(p)
        if r.lo is not None and r.lo >= 0:
            return True
        if (r.hi is not None and r.hi < 0) or depth > _DEPTH or not self._fuel:
            return False
        name = poly.key(p)
        if name in seen:
            return False
        seen.add(name)
        self._fuel -= 1
        bad = [m for m, c in p.items() if self._is_bad(m, c)]
        target = max(bad, key=lambda m: (len(m), m))
        for multiplied in self._multiplied_out(p, target):
            if self._search(multiplied, depth + 1, seen):
                return True
        for candidate in self._candidates(p, target):
            if self._search(candidate, depth + 1, seen):
                return True
        return self._by_cases(p)

    def _candidates(self, p: Poly, m: Monomial) -> list[Poly]:
        """p less multiples of facts that cancel the term of `m`, the most promising first."""
        c = p[m]
        found: dict[PolyKey, Poly] = {}
        for part in poly.divisors(m) if m else ((),):
            rest = poly.quotient(m, part)
            if rest is None or (rest and not self._nonneg_monomial(rest)):
                continue
            for fact in self._facts_with(part, c > 0):
                self._subtract(p, c, fact, part, rest, found)
        if m and c < 0 and self._nonneg_monomial(m):
            for fact in self.context.facts.get(((), False), ()):
                if len(fact) == 2 and self._leads_on(p, fact, m):
                    self._subtract(p, c, fact, (), m, found)
        scored = [
            (sum(self._is_bad(n, d) for n, d in q.items()), len(q), index, q)
            for index, q in enumerate(found.values())
        ]
        scored.sort(key=lambda s: s[:3])
        return [s[3] for s in scored[:10]]

    def _leads_on(self, p: Poly, fact: Poly, m: Monomial) -> bool:
        """The product of the fact's other term and `m` is in p, or some fact can cancel it."""
        product = next(poly.times(n, m) for n in fact if n)
        return product in p or (product, False) in self.context.facts

    @staticmethod
    def _subtract(
        p: Poly, c: int, fact: Poly, part: Monomial, rest: Monomial, found: dict[PolyKey, Poly]
    ) -> None:
        d = fact[part]
        common = gcd(c, d)
        scaled = poly.scale(p, abs(d) // common) if abs(d) != common else p
        q = poly.add(scaled, poly.times_monomial(fact, rest, abs(c) // common), -1)
        found.setdefault(poly.key(q), q)

    def _facts_with(self, m: Monomial, sign: bool) -> Iterator[Poly]:
        yield from self.context.facts.get((m, sign), ())
        for number in dict.fromkeys(m):
            for fact in self.atom_facts(number):
                c = fact.get(m)
                if c is not None and (c > 0) == sign:
                    yield fact

    def _multiplied_out(self, p: Poly, m: Monomial) -> Iterator[Poly]:
        """For q = x // n in the term m, with n >= 1: p >= 0 if n * p + n - 1 >= 0, where x - n + 1 <= n * q <= x."""
        c = p[m]
        for number in m:
            atom = self.table.atoms[number]
            if atom.kind != "div" or sum(n.count(number) for n in p) != 1:
                continue
            rest = poly.quotient(m, (number,)) or ()
            if (rest and not self._nonneg_monomial(rest)) or not self.positive(atom.y):
                continue
            others = {n: d for n, d in p.items() if n != m}
            result = poly.add(poly.multiply(others, atom.y), poly.shift(atom.y, -1))
            bound = atom.x
            if c > 0:
                bound = poly.shift(poly.add(bound, atom.y, -1), 1)
            yield poly.add(result, poly.times_monomial(bound, rest, c))

    def _by_cases(self, p: Poly) -> bool:
        """Split on the first minimum, maximum, choice or table of p."""
        if self._cases >= _CASES:
            return False
        for number in sorted({a for m in p for a in m}, reverse=True):
            atom = self.table.atoms[number]
            if atom.kind in ("min", "max", "select", "table"):
                self._cases += 1
                try:
                    if atom.kind == "table":
                        return self._table_cases(p, atom)
                    return self._two_cases(p, atom)
                finally:
                    self._cases -= 1
        return False

    def _two_cases(self, p: Poly, atom: Atom) -> bool:
        x_case = poly.substitute(p, atom.number, atom.x)
        y_case = poly.substitute(p, atom.number, atom.y)
        if atom.kind == "select":
            assert isinstance(atom.expr, Select)
            with self.assume(atom.expr.condition):
                if not self.nonneg(x_case):
                    return False
            with self.negate(atom.expr.condition):
                return self.nonneg(y_case)
        difference = poly.add(atom.y, atom.x, -1)
        if atom.kind == "max":
            difference = poly.scale(difference, -1)
        with self.scope():
            self.context.add(difference)
            if not self.nonneg(x_case):
                return False
        with self.scope():
            self.context.add(poly.scale(difference, -1))
            return self.nonneg(y_case)

    def _table_cases(self, p: Poly, atom: Atom) -> bool:
        position = self.range(atom.x)
        values = getattr(atom.expr, "values", ())
        lo, hi = max(position.lo or 0, 0), len(values) - 1
        hi = hi if position.hi is None else min(hi, position.hi)
        if hi - lo >= _TABLE_CASES:
            return False
        same = [
            t for m in p for t in m if self.table.atoms[t].kind == "table" and self.table.atoms[t].x == atom.x
        ]
        for k in builtins.range(lo, hi + 1):
            case = p
            for number in dict.fromkeys(same):
                entries = getattr(self.table.atoms[number].expr, "values", ())
                if k >= len(entries):
                    break
                case = poly.substitute(case, number, poly.constant(int(entries[k])))
            with self.scope():
                offset = poly.shift(atom.x, -k)
                self.context.add(offset)
                self.context.add(poly.scale(offset, -1))
                if not self.nonneg(case):
                    return False
        return True

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is bound or assumed inside is forgotten at the end."""
        outer = self.context
        self.context = outer.child()
        try:
            yield
        finally:
            self.context = outer
