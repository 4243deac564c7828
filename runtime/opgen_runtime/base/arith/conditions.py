"""Conditions: what may be assumed, and what can be proved of them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from math import gcd
from typing import Final

from ..vocabulary import BOOL
from . import polynomial as poly
from .build import logical_and, logical_not
from .convert import Converter, VectorError
from .expr import Binary, Compare, Const, Expr, Not, Select
from .polynomial import Poly

_MAX_NARROWING_TERMS: Final = 4  # terms of a fact that narrows ranges
_SIMPLIFICATION_FUEL: Final = 24  # fuel for a decision that only simplifies


class Conditions(Converter):
    """Proofs and assumptions of bool expressions."""

    __slots__ = ()

    # Assumptions

    def assume(self, condition: Expr) -> AbstractContextManager[None]:
        """A scope in which `condition` holds; what is bound or assumed inside is forgotten at the end."""
        return _Learned(self, condition, True, 0)

    def negate(self, condition: Expr) -> AbstractContextManager[None]:
        """A scope in which `condition` does not hold."""
        return _Learned(self, condition, False, 0)

    def suppose(self, condition: Expr, truth: bool) -> AbstractContextManager[None]:
        return _Learned(self, condition, truth, 1)

    def given(self, condition: Expr) -> None:
        """From now on `condition` holds, and what was found out before is found anew."""
        self.context = self.context.child()
        self.learn(condition, True)

    def learn(self, e: Expr, truth: bool) -> None:
        """Take `e` to be `truth` from now on."""
        with self.nested():
            open_: list[tuple[Expr, bool]] = []
            for part, holds in conjuncts(e, truth):
                if isinstance(part, Compare | Const):  # choices last, since they take work
                    self._learn_parts(part, holds)
                else:
                    open_.append((part, holds))
            for part, holds in open_:
                if self.spend():
                    self._learn_parts(part, holds)

    def _learn_parts(self, e: Expr, truth: bool) -> None:
        e, truth = _strip(e, truth)
        if isinstance(e, Const):
            if bool(e.value) != truth:
                self.context.impossible = True
        elif isinstance(e, Binary) and e.op in ("and", "or"):
            self._either(e.a if truth else logical_not(e.a), e.b if truth else logical_not(e.b))
        elif isinstance(e, Select):
            self._learn_select(e, truth)
        elif isinstance(e, Compare) and e.a.dtype.is_int:
            self._learn_compare(e, truth)
        else:
            self._know(e, truth)

    def _know(self, e: Expr, truth: bool) -> None:
        try:
            name = self.key(e)
        except VectorError:
            return
        if self.context.known.get(name, truth) != truth:
            self.context.impossible = True
        self.context.known[name] = truth
        self.context.changed()

    def _either(self, a: Expr, b: Expr) -> None:
        known_a, known_b = self.holds(a), self.holds(b)
        if known_a or known_b:
            return
        if known_a is False:
            self.learn(b, True)
        elif known_b is False:
            self.learn(a, True)
        else:
            self.context.either = (*self.context.either, (a, b))

    def _learn_select(self, e: Select, truth: bool) -> None:
        then, other = e.then, e.otherwise
        if isinstance(then, Const):
            if bool(then.value) == truth:
                self._either(e.condition, other if truth else logical_not(other))
            else:
                self.learn(e.condition, False)
                self.learn(other, truth)
        elif isinstance(other, Const):
            if bool(other.value) == truth:
                self._either(logical_not(e.condition), then if truth else logical_not(then))
            else:
                self.learn(e.condition, True)
                self.learn(then, truth)
        else:
            known = self.holds(e.condition)
            if known is not None:
                self.learn(then if known else other, truth)
                return
            first = logical_and(e.condition, then if truth else logical_not(then))
            self._either(first, logical_and(logical_not(e.condition), other if truth else logical_not(other)))

    def _learn_compare(self, e: Compare, truth: bool) -> None:
        try:
            difference = poly.add(self.poly(e.b), self.poly(e.a), -1)
        except VectorError:
            return
        op = e.op if truth else _INVERSE[e.op]
        if op == "eq":
            self._fact(difference)
            self._fact(poly.scale(difference, -1))
            self._use_remainder(difference)
        elif op == "ne":
            if not difference:
                self.context.impossible = True
            else:
                self.context.different = (*self.context.different, difference)
        else:
            if op in ("gt", "ge"):
                difference = poly.scale(difference, -1)
            self._fact(poly.shift(difference, -1) if op in ("lt", "gt") else difference)
        self._use_differences()

    def _use_remainder(self, difference: Poly) -> None:
        """x % n == r makes x = (x // n) * n + r; what is known of a var x is known, and tighter, of x // n."""
        found = [m[0] for m in difference if len(m) == 1]
        if len(found) != 1 or len(difference) > 2 or self.table.atoms[found[0]].kind != "mod":
            return
        atom = self.table.atoms[found[0]]
        remainder = -difference.get((), 0) * difference[found[0],]
        divisor = poly.as_constant(atom.y)
        names = list(atom.x)
        if divisor is None or not 0 <= remainder < divisor or len(names) != 1 or len(names[0]) != 1:
            return
        (number,) = names[0]
        if atom.x != poly.atom(number):
            return
        value = poly.shift(poly.scale(self.divide(atom.x, atom.y)[0], divisor), remainder)
        known = {poly.key(p): p for facts in self.context.facts.values() for p in facts}
        for fact in known.values():
            if any(number in m for m in fact):
                self._fact(poly.substitute(fact, number, value))
        self._fact(poly.add(atom.x, value, -1))
        self._fact(poly.add(value, atom.x, -1))

    def _fact(self, p: Poly) -> None:
        """p >= 0."""
        p = poly.tighten(p)
        value = poly.as_constant(p)
        if value is None:
            self.context.add(p)
            self._factors(p)
            self._dividends(p)
            self._sides(p)
            self._narrow(p)
        elif value < 0:
            self.context.impossible = True

    def _narrow(self, p: Poly) -> None:
        """The ranges of element values that `p >= 0` bounds by what else stands in it."""
        for m, c in p.items() if len(p) <= _MAX_NARROWING_TERMS else ():
            atom = self.table.atoms[m[0]] if len(m) == 1 else None
            if atom is not None and not (atom.below and atom.above):
                rest = self.range({n: d for n, d in p.items() if n != m}).hi
                if rest is not None:
                    self.context.narrow(m[0], c, rest)
                    self.context.changed()

    def _factors(self, p: Poly) -> None:
        """Of a product that is at least 1, no factor is 0."""
        if p.get((), 0) < 0 and len(p) == 2:
            m = next(m for m in p if m)
            if (
                len(m) > 1
                and p[m] > 0
                and all((self.atom_range(a).lo or -1) >= 0 or self._zero(a) for a in m)
            ):
                for number in set(m):
                    self._fact({(number,): 1, (): -1})

    def _dividends(self, p: Poly) -> None:
        """x // n >= k makes x >= n * k, for constants n and k."""
        first = p.get((), 0)
        for m, c in p.items() if len(p) == (2 if first else 1) else ():
            atom = self.table.atoms[m[0]] if len(m) == 1 and c > 0 else None
            divisor = poly.as_constant(atom.y) if atom is not None and atom.kind == "div" else None
            if atom is not None and divisor is not None and divisor > 0:
                self._fact(poly.shift(atom.x, -divisor * (-(first // c))))

    def _sides(self, p: Poly) -> None:
        """min(x, y) >= k makes x >= k and y >= k, and so does k >= max(x, y) with both.

        max(x, y) >= k makes x >= k where y is less than that, and k >= min(x, y) likewise.
        """
        for m, c in p.items() if len(p) <= _MAX_NARROWING_TERMS else ():
            atom = self.table.atoms[m[0]] if len(m) == 1 else None
            if atom is None or atom.kind not in ("min", "max"):
                continue
            both = atom.kind == ("min" if c > 0 else "max")
            for side, other in ((atom.x, atom.y), (atom.y, atom.x)):
                if poly.as_constant(side) is None and (both or self._is_less(p, atom.number, other)):
                    self._fact(poly.substitute(p, atom.number, side))

    def _is_less(self, p: Poly, number: int, value: Poly) -> bool:
        """Whether p is negative where an atom has that value."""
        hi = self.range(poly.substitute(p, number, value)).hi
        return hi is not None and hi < 0

    def _zero(self, number: int) -> bool:
        return self.atom_range(number).lo == 0

    def _use_differences(self) -> None:
        """x != 0 and x >= 0 make x >= 1."""
        open_ = []
        for p in self.context.different:
            with self.fuel(_SIMPLIFICATION_FUEL):
                if self.nonneg(p):
                    found = poly.shift(p, -1)
                elif self.nonneg(poly.scale(p, -1)):
                    found = poly.shift(poly.scale(p, -1), -1)
                else:
                    open_.append(p)
                    continue
            self._fact(found)
        self.context.different = tuple(open_)

    # Proofs

    def holds(self, condition: Expr) -> bool | None:
        """Whether `condition` is known to be true or to be false, with little work."""
        if isinstance(condition, Const):
            return bool(condition.value)
        with self.fuel(_SIMPLIFICATION_FUEL):
            if self.decide(condition, True):
                return True
            return False if self.decide(condition, False) else None

    def decide(self, e: Expr, truth: bool) -> bool:
        """It is certain that `e` is `truth`."""
        if self.context.impossible:
            return True
        e, truth = _strip(e, truth)
        if isinstance(e, Const):
            return bool(e.value) == truth
        if not self.spend():
            return False
        with self.nested():
            return self._decide_parts(e, truth)

    def _decide_parts(self, e: Expr, truth: bool) -> bool:
        if isinstance(e, Binary) and e.op in ("and", "or"):
            return self._decide_pair(e.a, e.b, truth, both=(e.op == "and") == truth)
        if isinstance(e, Select):
            return self._decide_select(e, truth)
        try:
            if isinstance(e, Compare) and e.a.dtype.is_int:
                return self._decide_compare(e, truth)
            if not self.context.known:
                return False
            return self.context.known.get(self.key(e)) is truth
        except VectorError:
            return False

    def _decide_pair(self, a: Expr, b: Expr, truth: bool, both: bool) -> bool:
        if both:
            return self.decide(a, truth) and self.decide(b, truth)
        if self.decide(a, truth) or self.decide(b, truth):
            return True
        with self.suppose(a, not truth):
            return self.decide(b, truth)

    def _decide_select(self, e: Select, truth: bool) -> bool:
        with self.suppose(e.condition, True):
            if not self.decide(e.then, truth):
                return False
        with self.suppose(e.condition, False):
            return self.decide(e.otherwise, truth)

    def _decide_compare(self, e: Compare, truth: bool) -> bool:
        difference = poly.add(self.poly(e.b), self.poly(e.a), -1)
        opposite = poly.scale(difference, -1)
        op = e.op if truth else _INVERSE[e.op]
        if op == "eq":
            return not difference or (self.nonneg(difference) and self.nonneg(opposite))
        if op == "ne":
            if any(difference == p or opposite == p for p in self.context.different):
                return True
            if _is_never_zero(difference):
                return True
            return self.nonneg(poly.shift(difference, -1)) or self.nonneg(poly.shift(opposite, -1))
        if op in ("gt", "ge"):
            difference = opposite
        return self.nonneg(poly.shift(difference, -1) if op in ("lt", "gt") else difference)

    def by_alternatives(self, e: Expr, truth: bool) -> bool:
        """Decide `e` in both cases of one of the known alternatives, the latest first."""
        for index in range(len(self.context.either) - 1, -1, -1):
            a, b = self.context.either[index]
            rest = (*self.context.either[:index], *self.context.either[index + 1 :])
            if all(self._decide_under(case, rest, e, truth) for case in (a, b)):
                return True
        return False

    def _decide_under(self, case: Expr, rest: tuple[tuple[Expr, Expr], ...], e: Expr, truth: bool) -> bool:
        with self.scope():
            self.context.either = ()
            self.learn(case, True)
            for a, b in rest:
                self._either(a, b)
            return self.decide(e, truth) or (bool(self._fuel) and self.by_alternatives(e, truth))


class _Learned(AbstractContextManager[None]):  # a class, as those of `ranges`
    """A scope in which a condition is known; so many levels of supposition deeper."""

    __slots__ = ("_condition", "_conditions", "_levels", "_outer", "_truth")

    def __init__(self, conditions: Conditions, condition: Expr, truth: bool, levels: int) -> None:
        self._conditions, self._condition, self._truth, self._levels = conditions, condition, truth, levels

    def __enter__(self) -> None:
        conditions = self._conditions
        self._outer = conditions.context
        conditions.context = self._outer.child()
        conditions.deepen(self._levels)
        try:
            conditions.learn(self._condition, self._truth)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *raised: object) -> None:
        self._conditions.context = self._outer
        self._conditions.deepen(-self._levels)


def _is_never_zero(p: Poly) -> bool:
    """Whether a number that divides all terms but the constant does not divide that: 2 * n is never 1."""
    common = gcd(*[c for m, c in p.items() if m])
    return common > 1 and p.get((), 0) % common != 0


_INVERSE: Final = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


def _strip(e: Expr, truth: bool) -> tuple[Expr, bool]:
    while isinstance(e, Not) and e.dtype is BOOL:
        e, truth = e.a, not truth
    return e, truth


def conjuncts(e: Expr, truth: bool) -> list[tuple[Expr, bool]]:
    """What all holds if `e` is `truth`, the outermost first."""
    found: list[tuple[Expr, bool]] = []
    seen: set[tuple[int, bool]] = set()
    parts = [_strip(e, truth)]
    for part, holds in parts:  # grows on the way
        if (id(part), holds) in seen:
            continue
        seen.add((id(part), holds))
        if isinstance(part, Binary) and (part.op, holds) in (("and", True), ("or", False)):
            parts += [_strip(part.b, holds), _strip(part.a, holds)]
        elif isinstance(part, Select) and holds and _is_const(part.otherwise, False):
            parts += [_strip(part.then, True), _strip(part.condition, True)]
        elif isinstance(part, Select) and not holds and _is_const(part.then, True):
            parts += [_strip(part.otherwise, False), _strip(part.condition, False)]
        else:
            found.append((part, holds))
    return found


def _is_const(e: Expr, value: bool) -> bool:
    return isinstance(e, Const) and bool(e.value) is value
