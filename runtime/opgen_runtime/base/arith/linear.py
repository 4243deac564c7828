"""Quick proofs that an index is inside its dim, by the ends of what it is made of.

Most indices are sums of loop variables times numbers, and most guards say of one that it is inside: then the least
value of a linear form, or of its difference from what a guard says, shows it.  The `Analyzer` knows far more, and takes
far longer; what is not seen here is a matter for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Final

from ..vocabulary import INDEX, UINT64
from .conditions import conjuncts
from .expr import Binary, Cast, Compare, Const, Dim, Expr, Select, Var
from .polynomial import add

Form = dict[int, int]
"""Atom -> its coefficient; `_ONE` stands for 1."""

Ends = tuple[int | None, int | None]
"""The least and the greatest value; None is not known."""

_ONE: Final = -1
_DEEPEST: Final = 64  # levels of an expression that are looked at
_ANY: Final[Ends] = (None, None)


def is_inside(index: Expr, extent: int, extents: Mapping[Var, Dim], facts: Iterable[Expr]) -> bool:
    """Whether 0 <= index < extent is seen at once, where each var v runs over 0 <= v < extents[v] and `facts` hold.

    Index arithmetic is taken not to overflow, and what is read not to change.
    """
    forms = _Forms(extents)
    low = forms.of(index)
    high = add({_ONE: extent - 1}, low, -1)
    wrong = [form for form in (low, high) if not forms.is_natural(form)]
    if not wrong:
        return True
    known = [form for fact in facts for form in forms.said(fact)]
    return all(any(forms.is_natural(add(form, fact, -1)) for fact in known) for form in wrong)


class _Forms:
    """Expressions as linear forms over atoms, and the ends of these."""

    def __init__(self, extents: Mapping[Var, Dim]) -> None:
        self._extents = extents
        self._numbers: dict[Hashable, int] = {}
        self._ends: list[Ends] = []
        self._known: dict[int, Form] = {}  # of nodes by id
        self._depth = 0

    def is_natural(self, form: Form) -> bool:
        """Whether a form is at least 0 for certain."""
        low = self.ends(form)[0]
        return low is not None and low >= 0

    def ends(self, form: Form) -> Ends:
        low: int | None = 0
        high: int | None = 0
        for number, factor in form.items():
            least, greatest = (1, 1) if number == _ONE else self._ends[number]
            if factor < 0:
                least, greatest = greatest, least
            low = None if low is None or least is None else low + factor * least
            high = None if high is None or greatest is None else high + factor * greatest
        return low, high

    def said(self, fact: Expr) -> Iterator[Form]:
        """Forms that are at least 0 where a condition holds."""
        for part, holds in conjuncts(fact, True):
            if not isinstance(part, Compare) or not part.a.dtype.is_int:
                continue
            difference = add(self.of(part.a), self.of(part.b), -1)
            op = part.op if holds else _OPPOSITE[part.op]
            if op in ("ge", "gt", "eq"):
                yield add(difference, {_ONE: 1}, -1) if op == "gt" else difference
            if op in ("le", "lt", "eq"):
                below = add({}, difference, -1)
                yield add(below, {_ONE: 1}, -1) if op == "lt" else below

    def of(self, e: Expr) -> Form:
        found = self._known.get(id(e))
        if found is None:
            self._depth += 1
            found = self._known[id(e)] = self._form(e) if self._depth <= _DEEPEST else self._lone(e, _ANY)
            self._depth -= 1
        return found

    def _form(self, e: Expr) -> Form:
        if isinstance(e, Const):
            return {_ONE: int(e.value)} if e.value else {}
        if isinstance(e, Var):
            extent = self._extents.get(e, 0 if e.size else None)
            high = extent - 1 if isinstance(extent, int) and not e.size else None
            return self._lone(e, _ANY if extent is None else (0, high))
        if e.dtype is INDEX:
            if isinstance(e, Binary):
                return self._binary(e.op, self.of(e.a), self.of(e.b))
            if isinstance(e, Cast) and e.a.dtype.is_int and e.a.dtype != UINT64:
                return self.of(e.a)
            if isinstance(e, Select):
                a, b = self.ends(self.of(e.then)), self.ends(self.of(e.otherwise))
                return self._lone(e, (_least(a[0], b[0]), _greatest(a[1], b[1])))
        return self._lone(e, _ANY)

    def _binary(self, op: str, a: Form, b: Form) -> Form:
        if op in ("add", "sub"):
            return add(a, b, 1 if op == "add" else -1)
        if op == "mul" and not b.keys() - {_ONE}:
            return add({}, a, b.get(_ONE, 0))
        return self._atom((op, *sorted(a.items()), None, *sorted(b.items())), self._span(op, a, b))

    def _lone(self, e: Expr, ends: Ends) -> Form:
        return self._atom(id(e), ends)

    def _atom(self, key: Hashable, ends: Ends) -> Form:
        """What is no sum, by itself."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._ends)
            self._ends.append(ends)
        return {number: 1}

    def _span(self, op: str, a: Form, b: Form) -> Ends:
        (low, high), (other_low, other_high) = self.ends(a), self.ends(b)
        if op == "min":
            return _least(low, other_low), _met(high, other_high, min)
        if op == "max":
            return _met(low, other_low, max), _greatest(high, other_high)
        divisor = 0 if b.keys() - {_ONE} else b.get(_ONE, 0)
        if divisor > 0 and op == "floordiv":
            return None if low is None else low // divisor, None if high is None else high // divisor
        return (0, divisor - 1) if divisor > 0 and op == "floormod" else _ANY


_OPPOSITE: Final = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


def _least(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


def _greatest(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else max(a, b)


def _met(a: int | None, b: int | None, which: Callable[[int, int], int]) -> int | None:
    """Of two bounds of one end the closer one; what is known, where one is not."""
    return b if a is None else a if b is None else which(a, b)
