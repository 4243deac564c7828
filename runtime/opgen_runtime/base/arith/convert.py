"""From integer expressions to polynomials over atoms.

Index arithmetic (`index`, and int64 made from it) is taken not to overflow; arithmetic on element values, which may be
as large as their dtype allows, is opaque unless its range is known to fit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from typing import Final

from ..vocabulary import BOOL
from . import polynomial as poly
from .context import Context
from .expr import AnyDim, Binary, Call, Cast, Compare, Const, Expr, Not, Select, Table, Var
from .intervals import Interval
from .polynomial import Poly
from .structural import label
from .wrapping import Wrapping, dtype_range, tame

_NEST: Final = 120  # nested levels that are looked into
_RANGES: Final[dict[type[Expr], Callable[[Expr], tuple[Expr, Expr] | None]]] = {}


def register_range(cls: type[Expr], bounds: Callable[[Expr], tuple[Expr, Expr] | None]) -> None:
    """Tell that integer nodes of `cls`, a class of a higher layer, lie between two expressions (or None)."""
    _RANGES[cls] = bounds


class VectorError(Exception):
    """The expression holds a vector of lanes, which is no single integer (a signal between these modules)."""


class Converter(Wrapping):
    """Expressions as polynomials in the current context."""

    __slots__ = ("_fresh", "_kept", "_names", "_nest")

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[Hashable, int] = {}
        self._kept: list[Expr] = []  # whose id stands in a key
        self._nest = 0
        self._fresh = False  # an unknown dim was met, which does not even equal itself

    def poly(self, e: Expr) -> Poly:
        """`e`, an integer or bool expression, as a polynomial.  Raises VectorError."""
        if isinstance(e, Const):
            return poly.constant(int(e.value))
        cached = self.context.polys.get(id(e))
        if cached is not None:
            return cached[1]
        if self._nest >= _NEST:
            return self._named(e, ("deep", id(e)))
        if not self.spend():  # remembered, so that what is asked of it later is asked of the same value
            found = self._named(e, ("deep", id(e)))
            self.context.polys[id(e)] = (e, found)
            return found
        self._nest += 1
        try:
            found = self._poly(e)
        finally:
            self._nest -= 1
        if not self._fresh:
            self.context.polys[id(e)] = (e, found)
        return found

    def _poly(self, e: Expr) -> Poly:
        if isinstance(e, Var):
            return self._var(e)
        if isinstance(e, Binary) and e.dtype is not BOOL:
            return self._binary(e)
        if isinstance(e, Cast) and (e.a.dtype.is_int or e.a.dtype is BOOL):
            return self._cast(e)
        if isinstance(e, Select) and e.dtype is not BOOL:
            return self._select(e)
        if isinstance(e, Table):
            return self._table(e)
        if isinstance(e, Not) and e.dtype.is_signed:
            return poly.shift(poly.scale(self.poly(e.a), -1), -1)
        if isinstance(e, Call):
            return self._call(e)
        if isinstance(e, AnyDim):
            self._fresh = True
            return poly.atom(self.table.make(None, "var", e, Interval(0, None)))
        bounds = _RANGES.get(type(e))
        if bounds is not None:
            found = bounds(e)
            if found is not None:
                return self._bounded(e, *found)
        return self._element(e)

    def _var(self, e: Var) -> Poly:
        key = ("var", id(e))
        number = self.table.find(key)
        if number is None:
            if e.dtype is BOOL:
                number = self.table.make(key, "var", e, Interval(0, 1))
            elif e.size:
                number = self.table.make(key, "var", e, Interval(e.least, e.most))
            elif e.dtype == "index":
                number = self.table.make(key, "var", e)
            else:
                number = self.table.make(key, "element", e, dtype_range(e.dtype), tame=tame(e.dtype))
        value = self.context.values.get(number)
        return poly.atom(number) if value is None else value

    def _bounded(self, e: Expr, lo: Expr, hi: Expr) -> Poly:
        key = ("bounded", self.key(e))
        number = self.table.find(key)
        if number is None:
            here, self.context = self.context, Context()  # the bounds of an atom hold everywhere
            try:
                least, greatest = self.poly(lo), self.poly(hi)
            finally:
                self.context = here
            number = self.table.make(key, "bounded", e, x=least, y=greatest)
        return poly.atom(number)

    def _named(self, e: Expr, key: Hashable) -> Poly:
        number = self.table.find(key)
        if number is None:
            self._kept.append(e)
            lanes = getattr(e, "lanes", None)
            if lanes is not None:
                raise VectorError
            number = self.table.make(key, "element", e, dtype_range(e.dtype), tame=tame(e.dtype))
        return poly.atom(number)

    def _element(self, e: Expr) -> Poly:
        return self._named(e, ("element", self.key(e)))

    # Arithmetic

    def _binary(self, e: Binary) -> Poly:
        op = e.op
        if op in ("add", "sub"):
            return self._sum(e)
        if op in ("mul", "shl"):
            if op == "shl" and not isinstance(e.b, Const):
                return self._element(e)
            x, y = self.poly(e.a), self.poly(e.b)
            if op == "shl":
                amount = poly.as_constant(y)
                if amount is None or not 0 <= amount < e.dtype.bits:
                    return {}
                y = poly.constant(1 << amount)
            return self._fitted(e, "mul", x, y, poly.multiply(x, y))
        if op in ("floordiv", "floormod", "truncdiv", "truncmod"):
            return self._quotient(e)
        if op in ("min", "max"):
            return self._extremum(e)
        if op == "shr" and isinstance(e.b, Const) and 0 <= e.b.value < e.dtype.bits:
            return self.divide(self.poly(e.a), poly.constant(1 << int(e.b.value)))[0]
        if op == "and":
            return self._masked(e)
        return self._element(e)

    def _sum(self, e: Binary) -> Poly:
        """A chain of additions, however long."""
        spine: list[Binary] = []
        node: Expr = e
        while isinstance(node, Binary) and node.op in ("add", "sub") and id(node) not in self.context.polys:
            spine.append(node)
            node = node.a
        total = self.poly(node)
        for step in reversed(spine):
            y = self.poly(step.b)
            result = poly.add(total, y, 1 if step.op == "add" else -1)
            if len(result) > 1:
                result = self.fold_remainders(result)
            total = self._fitted(step, step.op, total, y, result)
        return total

    def _fitted(self, e: Expr, op: str, x: Poly, y: Poly, result: Poly) -> Poly:
        """`result` where the operation cannot wrap, else an opaque value."""
        if self.fits(result, e.dtype):
            return result
        return self._named(e, ("wrap", op, e.dtype, poly.key(x), poly.key(y)))

    def _quotient(self, e: Binary) -> Poly:
        x, y = self.poly(e.a), self.poly(e.b)
        if e.op in ("truncdiv", "truncmod"):
            natural = self.range(x).within(0, None) or self.nonneg(x)
            if not natural or not self.range(y).within(0, None):
                return self._element(e)
        quotient, remainder = self.divide(x, y)
        if e.op in ("floormod", "truncmod"):
            return remainder
        if poly.as_constant(y) == -1:  # the lowest value wraps
            return self._element(e)
        return quotient

    def _extremum(self, e: Binary) -> Poly:
        return self.extremum(e.op, self.poly(e.a), self.poly(e.b))

    def extremum(self, op: str, x: Poly, y: Poly) -> Poly:
        """min or max of two polynomials."""
        difference = poly.add(y, x, -1) if op == "min" else poly.add(x, y, -1)
        with self.fuel(24):
            if self.nonneg(difference):
                return x
            if self.nonneg(poly.scale(difference, -1)):
                return y
        key = (op, frozenset((poly.key(x), poly.key(y))))
        number = self.table.find(key)
        if number is None:
            (x_below, x_above), (y_below, y_above) = self.tameness(x), self.tameness(y)
            if op == "min":
                tame = (x_below and y_below, x_above or y_above)
            else:
                tame = (x_below or y_below, x_above and y_above)
            number = self.table.make(key, op, None, x=x, y=y, tame=tame)
        return poly.atom(number)

    def _masked(self, e: Binary) -> Poly:
        """x & (2**k - 1) is x % 2**k; with another mask >= 0 the result lies within the mask."""
        mask = e.b if isinstance(e.b, Const) else e.a if isinstance(e.a, Const) else None
        if mask is None or mask.value < 0:
            return self._element(e)
        bits = int(mask.value) + 1
        other = e.a if mask is e.b else e.b
        if bits & (bits - 1) == 0:
            return self.divide(self.poly(other), poly.constant(bits))[1]
        key = ("mask", int(mask.value), poly.key(self.poly(other)))
        number = self.table.find(key)
        if number is None:
            number = self.table.make(key, "element", e, Interval(0, int(mask.value)))
        return poly.atom(number)

    # Other nodes

    def _cast(self, e: Cast) -> Poly:
        if e.a.dtype is BOOL:
            known = self.holds(e.a)
            if known is not None:
                return poly.constant(int(known))
            key: Hashable = ("bool", self.key(e.a))
            number = self.table.find(key)
            if number is None:
                number = self.table.make(key, "element", e, Interval(0, 1))
            return poly.atom(number)
        p = self.poly(e.a)
        source, target = e.a.dtype, e.dtype
        if target is BOOL:
            return self._element(e)
        if target.lowest <= source.lowest and source.highest <= target.highest:
            return p
        if self.range(p).within(int(target.lowest), int(target.highest)):
            return p
        return self._named(e, ("cast", target, poly.key(p)))

    def _select(self, e: Select) -> Poly:
        known = self.holds(e.condition)
        if known is not None:
            return self.poly(e.then if known else e.otherwise)
        with self.suppose(e.condition, True):
            x = self.poly(e.then)
        with self.suppose(e.condition, False):
            y = self.poly(e.otherwise)
        if x == y:
            return x
        key = ("select", self.key(e.condition), poly.key(x), poly.key(y))
        number = self.table.find(key)
        if number is None:
            (x_below, x_above), (y_below, y_above) = self.tameness(x), self.tameness(y)
            tame = (x_below and y_below, x_above and y_above)
            number = self.table.make(key, "select", e, x=x, y=y, tame=tame)
        return poly.atom(number)

    def _table(self, e: Table) -> Poly:
        position = self.poly(e.index)
        values = e.values
        at = poly.as_constant(position)
        if at is not None and 0 <= at < len(values):
            return poly.constant(int(values[at]))
        whole = [int(v) for v in values]
        step = whole[1] - whole[0] if len(whole) > 1 else 0
        if whole and all(b - a == step for a, b in itertools.pairwise(whole)):
            return poly.shift(poly.scale(position, step), whole[0])
        key = ("table", tuple(whole), poly.key(position))
        number = self.table.find(key)
        if number is None:
            span = Interval(min(whole), max(whole)) if whole else Interval()
            number = self.table.make(key, "table", e, span, x=position)
        return poly.atom(number)

    def _call(self, e: Call) -> Poly:
        if e.name == "abs" and e.dtype.is_int:
            x = self.poly(e.args[0])
            if self.fits(poly.scale(x, -1), e.dtype):
                return self.extremum("max", x, poly.scale(x, -1))
        spans = {"sign": Interval(-1, 1), "popcount": Interval(0, 64), "clz": Interval(0, 64)}
        if e.name in spans and e.dtype.is_int:
            key = ("call", self.key(e))
            number = self.table.find(key)
            if number is None:
                number = self.table.make(key, "element", e, spans[e.name])
            return poly.atom(number)
        return self._element(e)

    # Keys

    def key(self, e: Expr) -> int:
        """A number that is equal for expressions of equal value, as far as that is known here.

        Raises VectorError.
        """
        names = self.context.names
        whole = e.dtype.is_int  # its own name is that of its structure, since its polynomial may ask for it
        stack: list[tuple[Expr, bool]] = [(e, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in names and not (whole and node is e):
                continue
            if not ready:
                if not self.spend():
                    names[id(node)] = (node, self._name(("deep", id(node))))
                    continue
                if node is not e and node.dtype.is_int:
                    number = self._name(("poly", node.dtype, poly.key(self.poly(node))))
                    names[id(node)] = (node, number)
                    continue
                if hasattr(node, "lanes"):
                    raise VectorError
                stack.append((node, True))
                stack.extend((child, False) for child in node.children())
                continue
            if isinstance(node, Var):
                self._kept.append(node)
                names[id(node)] = (node, self._name(("var", id(node))))
            elif isinstance(node, Compare) and node.a.dtype.is_int:
                names[id(node)] = (node, self._name(self._compare_key(node)))
            else:
                self._kept.append(node)
                parts = (names[id(c)][1] for c in node.children())
                name = self._name((label(node), *parts))
                if whole and node is e:
                    return name
                names[id(node)] = (node, name)
        return names[id(e)][1]

    def _name(self, key: Hashable) -> int:
        return self._names.setdefault(key, len(self._names))

    def _compare_key(self, e: Compare) -> Hashable:
        """One key for a < b, b > a, a + 1 <= b and so on."""
        x, y = self.poly(e.a), self.poly(e.b)
        difference = poly.add(y, x, -1)
        if e.op in ("eq", "ne"):
            name = min(sorted(difference.items()), sorted(poly.scale(difference, -1).items()))
            return (e.op, tuple(name))
        if e.op in ("gt", "ge"):
            difference = poly.scale(difference, -1)
        if e.op in ("lt", "gt"):
            difference = poly.shift(difference, -1)
        return ("nonneg", poly.key(difference))
