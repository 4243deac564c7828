"""Indices as sums: `4*i + 2*k - 1` over variables, with quotients and remainders as variables of their own.

x // c, x % c   -->   q, r   with   x = c*q + r,   0 <= r < c
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ....base.arith import (
    Binary,
    Cast,
    Const,
    Expr,
    Var,
    add,
    cast,
    const,
    free_vars,
    mul,
    structural_equal,
    sub,
)
from ....base.vocabulary import INDEX, dataclass


@dataclass(frozen=True, slots=True)
class Linear:
    """`sum(factor * var) + offset`, no factor 0."""

    factors: Mapping[Var, int]
    offset: int = 0

    def plus(self, other: Linear, times: int = 1) -> Linear:
        factors = dict(self.factors)
        for var, factor in other.factors.items():
            total = factors.get(var, 0) + times * factor
            if total:
                factors[var] = total
            else:
                factors.pop(var, None)
        return Linear(factors, self.offset + times * other.offset)

    def scaled(self, times: int) -> Linear:
        return Linear({}).plus(self, times) if times else Linear({})

    def without(self, var: Var) -> Linear:
        return Linear({v: f for v, f in self.factors.items() if v is not var}, self.offset)

    def replaced(self, var: Var, value: Linear) -> Linear:
        factor = self.factors.get(var, 0)
        return self.without(var).plus(value, factor) if factor else self

    def span(self, extents: Mapping[Var, int]) -> tuple[int, int]:
        """The least and the greatest value where each variable runs over 0 <= var < extent."""
        ends = [(factor * (extents[var] - 1), 0) for var, factor in self.factors.items()]
        return self.offset + sum(map(min, ends)), self.offset + sum(map(max, ends))

    def expression(self) -> Expr:
        """The sum as an expression; terms with a minus last."""
        total: Expr = const(0, INDEX)
        for var, factor in sorted(self.factors.items(), key=lambda item: item[1] < 0):
            total = add(total, mul(var, factor)) if factor > 0 else sub(total, mul(var, -factor))
        return add(total, self.offset)


def of(var: Var) -> Linear:
    return Linear({var: 1})


def constant(value: int) -> Linear:
    return Linear({}, value)


@dataclass(slots=True)
class Division:
    """The variables that stand for `dividend // divisor` and `dividend % divisor`."""

    dividend: Linear
    divisor: int
    quotient: Var
    remainder: Var


@dataclass(slots=True)
class Divisions:
    """The quotients and remainders that indices hold.  `extents`: those of all variables, and of those made here.

    `fixed`: names for what indices hold that no variable changes, such as `first[]` in `x[i + first[]]`.
    """

    extents: dict[Var, int]
    found: list[Division] = field(default_factory=list)
    fixed: dict[Var, Expr] = field(default_factory=dict)

    def linear(self, index: Expr) -> Linear | None:
        """`index` as a sum over variables whose extents are known; None where it is none."""
        whole = index
        while isinstance(index, Cast) and index.a.dtype.is_int:
            index = index.a
        if isinstance(index, Const):
            return constant(int(index.value))
        if isinstance(index, Var) and index in self.extents:
            return of(index)
        if self.extents.keys().isdisjoint(free_vars(index)):
            return self._fixed(whole if whole.dtype is INDEX else cast(whole, INDEX))
        if not isinstance(index, Binary):
            return None
        a, b = self.linear(index.a), self.linear(index.b)
        if a is None or b is None:
            return None
        if index.op in ("add", "sub"):
            return a.plus(b, 1 if index.op == "add" else -1)
        if index.op == "mul" and (not a.factors or not b.factors):
            return a.scaled(b.offset) if not b.factors else b.scaled(a.offset)
        divides = index.op in ("floordiv", "floormod") and not b.factors and b.offset > 0
        if divides and a.factors.keys() <= self.extents.keys():
            made = self._divided(a, b.offset)
            return made[0] if index.op == "floordiv" else made[1]
        return None

    def _fixed(self, index: Expr) -> Linear:
        """What no variable changes; a sum with constants counts as one, so that conditions show them."""
        if isinstance(index, Binary) and index.op in ("add", "sub"):
            a, b = self.linear(index.a), self.linear(index.b)
            if a is not None and b is not None:
                return a.plus(b, 1 if index.op == "add" else -1)
        for var, known in self.fixed.items():
            if structural_equal(known, index):
                return of(var)
        var = Var(INDEX, "fixed")
        self.fixed[var] = index
        return of(var)

    def _divided(self, dividend: Linear, divisor: int) -> tuple[Linear, Linear]:
        low, high = dividend.span(self.extents)
        for known in self.found:
            if known.divisor == divisor and known.dividend == dividend:
                return self._result(known, low)
        quotient, remainder = Var(INDEX, "q"), Var(INDEX, "r")
        self.extents[quotient] = high // divisor - low // divisor + 1
        self.extents[remainder] = divisor
        self.found.append(Division(dividend, divisor, quotient, remainder))
        return self._result(self.found[-1], low)

    @staticmethod
    def _result(division: Division, low: int) -> tuple[Linear, Linear]:
        """Quotients are counted from the least one."""
        least = low // division.divisor
        return of(division.quotient).plus(constant(least)), of(division.remainder)

    def equations(self) -> list[Linear]:
        """What holds of the variables made here: each sum is zero."""
        return [
            each.dividend.plus(
                self._result(each, each.dividend.span(self.extents)[0])[0], -each.divisor
            ).plus(of(each.remainder), -1)
            for each in self.found
        ]
