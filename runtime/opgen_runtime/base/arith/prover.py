"""The search for proofs that a polynomial is at least 0.

A polynomial is at least 0 if it is a sum of known facts (each >= 0), times products that are >= 0, and terms that are
>= 0 themselves.  The search takes a term whose sign is wrong or unknown and subtracts a multiple of a fact that cancels
it (Fourier and Motzkin's elimination, guided by the terms).  Quotients are multiplied out, and minima, maxima, choices
and tables are tried case by case.  It is bounded by fuel, so a False means "not proved".

A proof may need others on its way: that a divisor is positive, say.  One that needs itself, in the same context, is
given up there, and so is one too deep inside others; what follows from that is not remembered.

Most searches that find nothing go on until their fuel ends.  Before a search begins, and again where it goes on for
long, values are sought at which all that is known holds, and the polynomial is negative (`witness.py`).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from math import gcd
from typing import Final

from ..vocabulary import dataclass
from . import polynomial as poly
from .atoms import Atom
from .context import Context
from .expr import Select
from .polynomial import Monomial, Poly, PolyKey
from .ranges import Ranges
from .witness import KINDS, LATE_KIND, Witness

FUEL: Final = 300
_LONG: Final = 6  # fuel that a search burns before more values are sought that refute it
_MAX_DEPTH: Final = 12
_MAX_NESTED_GOALS: Final = 8  # proofs inside each other
_MAX_NESTED_CASES: Final = 5  # nested case distinctions
_MAX_TABLE_CASES: Final = 32


class Prover(Ranges):
    """Proofs about polynomials in the current context."""

    __slots__ = ("_doubt",)

    def __init__(self) -> None:
        super().__init__()
        self._doubt: _Doubt | None = None  # of the innermost search, until it is asked

    # Proofs

    def fuel(self, amount: int) -> AbstractContextManager[None]:
        """Bound the work of the proofs inside."""
        return _Fuel(self, amount)

    def fill(self, amount: int) -> tuple[int | None, int]:
        """Give the proofs from now on so much fuel at most; what there was before, and what there is."""
        before = self._fuel
        self._fuel = amount if before is None else min(amount, before)
        return before, self._fuel

    def refill(self, before: int | None, given: int) -> None:
        """Go back to the fuel that there was, less what has been burnt of what was given."""
        left = self._fuel or 0
        self._fuel = None if before is None else before - (given - left)

    def nonneg(self, p: Poly) -> bool:
        """p >= 0 for certain."""
        r = self.range(p)
        if r.lo is not None and r.lo >= 0:
            return True
        if self.context.impossible:
            return True
        if (r.hi is not None and r.hi < 0) or not any(p):
            return False
        if self._is_natural_from_least(p):
            return True
        if self._is_negative_somewhere(p):
            return False
        context, name = self.context, poly.key(p)
        fuel = FUEL if self._fuel is None else self._fuel
        first = not self._goals and not self._derived  # what stands within another is cut where that is known
        sought = context.sought
        known = sought.get(name) if first else None
        if known is not None and (known[0] or fuel <= known[1]):
            return known[0]
        goal = id(context), name
        if goal in self._goals or len(self._goals) >= _MAX_NESTED_GOALS:
            self.given_up += 1
            return False
        self._goals.add(goal)
        outer = self._doubt
        try:
            with self.fuel(fuel):
                self._doubt = _Doubt(p, context, fuel - _LONG) if fuel > _LONG else None
                found = self._search(p, 0, set())
        except _Refuted:
            found = False
        finally:
            self._doubt = outer
            self._goals.discard(goal)
        if first and context.sought is sought:  # a search that added facts may find more the next time
            sought[name] = found, fuel
        return found

    def _is_natural_from_least(self, p: Poly) -> bool:
        """Whether each atom is at least some number, and p has no minus as a polynomial of how much more they are.

        x * y - x - y where x, y >= 2 is u * v + u + v of u = x - 2 and v = y - 2.
        """
        if all(len(m) < 2 for m in p):
            return False  # as its range says
        for number in {a for m in p for a in m}:
            least = self.atom_range(number).lo
            if least is None:
                return False
            if least:
                p = poly.substitute(p, number, {(number,): 1, (): least})
        return all(c > 0 for c in p.values())

    def _is_negative_somewhere(self, p: Poly) -> bool:
        """Whether p is negative for values of which all that is known holds; False where none are found."""
        return self._is_negative_by(p, self.context, KINDS)

    def _is_negative_by(self, p: Poly, context: Context, kinds: Iterable[str]) -> bool:
        """Whether p is negative for values of one of the kinds of which all holds that is known in a context."""
        witnesses = context.witnesses
        facts: list[Poly] | None = None
        for kind in kinds:
            if kind not in witnesses:
                if facts is None:
                    facts = list({id(f): f for known in context.facts.values() for f in known}.values())
                made = Witness(kind, self.table, context.ranges, facts)
                witnesses[kind] = made if made.is_sound() else None
            witness = witnesses[kind]
            value = None if witness is None else witness.value(p)
            if value is not None and value < 0:
                return True
        return False

    def _refute(self, doubt: _Doubt) -> None:
        """Raises _Refuted where the goal is negative for values of a kind that was not asked before the search."""
        self._doubt = None  # once a search
        if self._is_negative_by(doubt.goal, doubt.context, (LATE_KIND,)):
            raise _Refuted

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
        products = {m for m, _ in self.context.facts if len(m) > 1 and number in m and self.is_natural(m)}
        for m in products:
            if self.nonneg({m: 1, (): -1}):
                self.context.add({(number,): 1, (): -1})
                return True
        return False

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
        if (r.hi is not None and r.hi < 0) or depth > _MAX_DEPTH or not self._fuel:
            return False
        name = poly.key(p)
        if name in seen:
            return False
        seen.add(name)
        self._fuel -= 1
        if self._doubt is not None and self._fuel <= self._doubt.fuel:
            self._refute(self._doubt)
        bad = [m for m, c in p.items() if self._is_bad(m, c)]
        target = max(bad, key=lambda m: (len(m), m))
        steps: list[Callable[[], Iterable[Poly]]] = [
            lambda: self._candidates(p, target),
            lambda: self._multiplied_out(p, target),
        ]
        if len(target) == 1:
            steps.reverse()  # a quotient alone is best multiplied out at once
        if not target:  # s - 2 where s > i and i >= 1: a sharper bound of s first
            steps.append(lambda: (q for m in p if m for q in self._candidates(p, m)))
        for step in steps:
            for other in step():
                if self._search(other, depth + 1, seen):
                    return True
        return self._by_cases(p)

    def _candidates(self, p: Poly, m: Monomial) -> list[Poly]:
        """p less multiples of facts that cancel the term of `m`, the most promising first."""
        c = p[m]
        found: dict[PolyKey, Poly] = {}
        for part in poly.divisors(m) if m else ((),):
            rest = poly.quotient(m, part)
            if rest is None or (rest and not self.is_natural(rest)):
                continue
            for fact in self._facts_with(part, c > 0, p):
                self._subtract(p, c, fact, part, rest, found)
        if m and c < 0 and self.is_natural(m):
            for fact in self.context.facts.get(((), False), ()):
                if len(fact) == 2 and self._leads_on(p, fact, m):
                    self._subtract(p, c, fact, (), m, found)
        scored = []
        for index, q in enumerate(found.values()):
            degree = max((len(n) for n in q), default=0)
            scored.append((degree, sum(self._is_bad(n, d) for n, d in q.items()), len(q), index, q))
        scored.sort(key=lambda s: s[:4])
        return [s[4] for s in scored[:10]]

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

    def _facts_with(self, m: Monomial, sign: bool, p: Poly) -> Iterator[Poly]:
        yield from self.context.facts.get((m, sign), ())
        for number in dict.fromkeys(
            (*m, *(n for other in p for n in other if self.table.atoms[n].kind == "div"))
        ):
            for fact in self.atom_facts(number):
                c = fact.get(m)
                if c is not None and (c > 0) == sign:
                    yield fact

    def _multiplied_out(self, p: Poly, m: Monomial) -> Iterator[Poly]:
        """For q = x // n in the term m, with n >= 1: p >= 0 if n * p + n - 1 >= 0, where n * q is x - x % n."""
        terms = [m] if m else [n for n in p if n]
        for m, number in [(n, a) for n in terms for a in n]:
            c = p[m]
            atom = self.table.atoms[number]
            if atom.kind != "div" or sum(n.count(number) for n in p) != 1:
                continue
            rest = poly.quotient(m, (number,)) or ()
            if (rest and not self.is_natural(rest)) or not self.positive(atom.y):
                continue
            others = {n: d for n, d in p.items() if n != m}
            result = poly.add(poly.multiply(others, atom.y), poly.shift(atom.y, -1))
            bound = atom.x
            remainder = self.remainder_of(atom)
            if remainder is not None:
                bound = poly.add(bound, remainder, -1)
            elif c > 0:
                bound = poly.shift(poly.add(bound, atom.y, -1), 1)
            yield poly.add(result, poly.times_monomial(bound, rest, c))

    def _by_cases(self, p: Poly) -> bool:
        """Split on the first minimum, maximum, choice or table of p."""
        if self._cases >= _MAX_NESTED_CASES:
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
            with self.suppose(atom.expr.condition, True):
                if not self.nonneg(x_case):
                    return False
            with self.suppose(atom.expr.condition, False):
                return self.nonneg(y_case)
        difference = poly.add(atom.y, atom.x, -1)
        if atom.kind == "max":
            difference = poly.scale(difference, -1)
        with self.scope():
            self.context.add(difference)
            if not self.nonneg(x_case) and not self._never():
                return False
        with self.scope():
            self.context.add(poly.scale(difference, -1))
            return self.nonneg(y_case) or self._never()

    def _never(self) -> bool:
        """Whether what is known cannot hold: some fact is negative by the ranges of what it is made of."""
        for known in self.context.facts.values():
            for fact in known:
                hi = self.range(fact).hi
                if hi is not None and hi < 0:
                    return True
        return False

    def _table_cases(self, p: Poly, atom: Atom) -> bool:
        position = self.range(atom.x)
        values = getattr(atom.expr, "values", ())
        lo, hi = max(position.lo or 0, 0), len(values) - 1
        hi = hi if position.hi is None else min(hi, position.hi)
        if hi - lo >= _MAX_TABLE_CASES:
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


@dataclass(frozen=True, slots=True)
class _Doubt:
    """The goal of the innermost search, which is doubted once no more than `fuel` is left."""

    goal: Poly
    context: Context
    fuel: int


class _Refuted(Exception):
    """No proof of the innermost goal can be found."""


class _Fuel(AbstractContextManager[None]):  # a class, as those of `ranges`
    __slots__ = ("_amount", "_filled", "_prover")

    def __init__(self, prover: Prover, amount: int) -> None:
        self._prover, self._amount = prover, amount

    def __enter__(self) -> None:
        self._filled = self._prover.fill(self._amount)

    def __exit__(self, *raised: object) -> None:
        self._prover.refill(*self._filled)
