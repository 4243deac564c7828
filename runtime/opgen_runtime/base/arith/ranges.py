"""Ranges of atoms and polynomials, and the facts that hold for an atom because of what it is."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Final, TypeVar

from . import polynomial as poly
from .atoms import Atom, AtomTable
from .context import Context
from .expr import Expr, Select
from .intervals import ANYTHING, Interval
from .polynomial import Monomial, Poly, PolyKey

T = TypeVar("T")
_ONE: Final = Interval(1, 1)
CREDIT: Final = 1000  # steps under suppositions, at most
_EARNED: Final = 4
_DEEPEST: Final = 32  # suppositions inside each other


class Ranges(ABC):
    """Ranges of atoms and polynomials in the current context, and the facts that come with atoms."""

    __slots__ = (
        "_cases", "_credit", "_derived", "_fuel", "_goals", "_open", "_supposed", "context", "given_up", "table"
    )  # fmt: skip

    def __init__(self) -> None:
        self.table = AtomTable()
        self.context = Context()
        self._fuel: int | None = None
        self._credit = CREDIT
        self._supposed = 0  # suppositions around
        self._cases = 0
        self._derived = 0  # atoms whose ranges or facts are being derived: little is known of them meanwhile
        self._open: set[int] = set()
        self._goals: set[tuple[int, PolyKey]] = set()  # being proved, by context
        self.given_up = 0  # how often a goal met itself, or too many others

    @abstractmethod
    def suppose(self, condition: Expr, truth: bool) -> AbstractContextManager[None]:
        """A scope of one step of reasoning, in which `condition` is `truth`; work in it takes credit."""

    @abstractmethod
    def holds(self, condition: Expr) -> bool | None:
        """Whether `condition` is known to be true or false."""

    @abstractmethod
    def divide(self, x: Poly, y: Poly) -> tuple[Poly, Poly]:
        """(x // y, x % y)."""

    @abstractmethod
    def nonneg(self, p: Poly) -> bool:
        """p >= 0 for certain."""

    @abstractmethod
    def positive(self, p: Poly) -> bool:
        """p >= 1 for certain."""

    # Work

    def nested(self) -> AbstractContextManager[None]:
        """Work inside takes credit."""
        return _Nested(self)

    def deepen(self, levels: int) -> None:
        """So many suppositions more are around from now on, or fewer."""
        self._supposed += levels

    def spend(self) -> bool:
        """Whether one more step may be taken.

        Under a supposition little can be remembered, so that values which many choices share would be looked at once
        for every way to them.  Each step outside of all suppositions earns some inside, which keeps the whole linear.
        """
        if not self._supposed:
            self._credit = min(CREDIT, self._credit + _EARNED)
            return True
        self._credit -= 1
        return self._credit >= 0 and self._supposed <= _DEEPEST

    # Ranges

    def atom_range(self, number: int) -> Interval:
        """The least known interval of an atom."""
        cache = self.context.atom_ranges
        found = cache.get(number)
        if found is None:
            atom = self.table.atoms[number]
            found = cache[number] = atom.range.meet(self.context.ranges.get(number, ANYTHING))
            if atom.kind not in ("var", "element"):
                before = self.given_up
                self._derived += 1
                try:
                    found = found.meet(self._derived_range(atom))
                finally:
                    self._derived -= 1
                self._keep(self.context.atom_ranges, number, found, before)
        return found

    def _keep(self, cache: dict[int, T], number: int, found: T, before: int) -> None:
        """Remember what was found of an atom, unless a goal was given up on the way that others wait for."""
        if self.given_up == before or not self._goals:
            cache[number] = found
        else:
            cache.pop(number, None)

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
        return ANYTHING

    def _select_range(self, atom: Atom) -> Interval:
        assert isinstance(atom.expr, Select)
        if atom.number in self._open or not self.spend():
            return (
                ANYTHING  # its condition speaks of itself, by way of what is assumed; or this takes too long
            )
        self._open.add(atom.number)
        try:
            with self.suppose(atom.expr.condition, True):
                then = None if self.context.impossible else self.range(atom.x)
            with self.suppose(atom.expr.condition, False):
                other = None if self.context.impossible else self.range(atom.y)
        finally:
            self._open.discard(atom.number)
        if then is None or other is None:
            return then or other or ANYTHING
        return then.join(other)

    def _division_range(self, atom: Atom) -> Interval:
        x, y = self.range(atom.x), self.range(atom.y)
        if y.lo is None or y.lo < 0:
            if y.hi is not None and y.hi < 0 and atom.kind == "mod" and y.lo is not None:
                return Interval(y.lo + 1, 0)
            return ANYTHING
        if atom.kind == "mod" and x.hi is None:  # nothing follows of the sign of x
            return Interval(0, None if y.hi is None else max(y.hi - 1, 0))
        natural = (x.lo is not None and x.lo >= 0) or self.nonneg(atom.x)
        if atom.kind == "mod":
            hi = None if y.hi is None else max(y.hi - 1, 0)
            return Interval(0, hi).meet(Interval(None, x.hi) if natural else ANYTHING)
        if y.is_point and y.lo > 0:
            quotient = x.floordiv(y.lo)
            return quotient.meet(Interval(0, None)) if natural else quotient
        if natural:
            return Interval(0, None if x.hi is None else x.hi // max(y.lo, 1))
        return ANYTHING

    def monomial_range(self, m: Monomial) -> Interval:
        if not m:
            return _ONE
        if len(m) == 1:
            return self.atom_range(m[0])
        found = self.atom_range(m[0])
        for previous, number in itertools.pairwise(m):
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
            before = self.given_up
            self._derived += 1
            try:
                found = tuple(self._facts_of(self.table.atoms[number]))
            finally:
                self._derived -= 1
            self._keep(self.context.atom_facts, number, found, before)
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
        remainder = self.remainder_of(atom)
        if remainder is not None:
            difference = poly.add(poly.add(x, product, -1), remainder, -1)
            yield difference
            yield poly.scale(difference, -1)
        parts = self._parts_of(y)
        if parts is not None:
            below = poly.shift(poly.scale(a, -1), parts - 1)
            if self.nonneg(below):
                yield below
        for choice in (0, -1):
            last = self._bound(x, True, choice)
            if last is not None:
                yield poly.add(self.divide(last, y)[0], a, -1)
            first = self._bound(x, False, choice)
            if first is not None:
                yield poly.add(a, self.divide(first, y)[0], -1)

    def remainder_of(self, atom: Atom) -> Poly | None:
        """x % y for the atom x // y, where something is known of it here."""
        number = self.table.find(("mod", poly.key(atom.x), poly.key(atom.y)))
        if number is None or number not in self.context.ranges:
            return None
        return poly.atom(number)

    def _parts_of(self, y: Poly) -> int | None:
        """n, where y is t // n: then x // y is expected to count the n parts of t."""
        if len(y) != 1:
            return None
        (m, c) = next(iter(y.items()))
        atom = self.table.atoms[m[0]] if len(m) == 1 and c == 1 else None
        return poly.as_constant(atom.y) if atom is not None and atom.kind == "div" else None

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
            if len(signs) != 1 or any(number in r or not self.is_natural(r) for r in rests):
                continue
            want_upper = signs.pop() == upper
            facts = [
                fact
                for fact in self.context.facts.get(((number,), not want_upper), ())
                if abs(fact[(number,)]) == 1 and sum(number in m for m in fact) == 1
            ]
            if facts:
                fact = facts[choice]
                bound = poly.add(fact, poly.atom(number), 1 if want_upper else -1)
                return poly.substitute(p, number, bound if want_upper else poly.scale(bound, -1))
        return None

    def is_natural(self, m: Monomial) -> bool:
        lo = self.monomial_range(m).lo
        return lo is not None and lo >= 0

    def scope(self) -> AbstractContextManager[None]:
        """What is bound or assumed inside is forgotten at the end."""
        return _Scope(self)


# Classes, since proofs enter thousands of these: a generator takes three times as long.


class _Nested(AbstractContextManager[None]):
    __slots__ = ("_ranges",)

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges

    def __enter__(self) -> None:
        self._ranges.deepen(1)

    def __exit__(self, *raised: object) -> None:
        self._ranges.deepen(-1)


class _Scope(AbstractContextManager[None]):
    __slots__ = ("_outer", "_ranges")

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges

    def __enter__(self) -> None:
        self._outer = outer = self._ranges.context
        self._ranges.context = outer.child()

    def __exit__(self, *raised: object) -> None:
        self._ranges.context = self._outer
