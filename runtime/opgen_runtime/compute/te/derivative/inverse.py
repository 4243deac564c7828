"""Where an index map comes from: the variables of a domain as functions of the position that was read.

    out[i, j] reads x[(i*6 + j) // 4, (i*6 + j) % 4]     -->   i = (s0*4 + s1) // 6,  j = (s0*4 + s1) % 6
    out[y] reads x[2*y + k - 1], k < 3                   -->   k = 2*t + (s + 1) % 2,  y = (s + 1) // 2 - t,  t < 2
    out[i] reads x[i // 3]                               -->   i = 3*s + r,  r < 3
    out[i, j] reads x[j]                                 -->   j = s,  i left over
    out[y] reads x[(y - k) // 2] where (y - k) % 2 == 0  -->   y = 2*s + k,  k left over

What the position does not decide is left over as loops.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from ....base.arith import (
    Binary,
    Compare,
    Const,
    Expr,
    Select,
    Var,
    const,
    eq,
    floordiv,
    floormod,
    free_vars,
    ge,
    lt,
    select,
    sub,
    substitute,
)
from ....base.vocabulary import INDEX, dataclass
from ..access import analysis
from ..tensor import IterVar
from .linear import Divisions, Linear, constant, of


@dataclass(frozen=True, slots=True)
class Inverse:
    """`values`: each variable of the domain, over the positions' variables and those of `loops`.

    `condition`: where the position is read at all with these values; None is everywhere.
    """

    values: Mapping[Var, Expr]
    loops: tuple[IterVar, ...]
    condition: Expr | None

    @property
    def iterations(self) -> int:
        return math.prod([int(axis.extent) for axis in self.loops if isinstance(axis.extent, int)])

    def steps(self, positions: Mapping[Var, int]) -> Iterator[Inverse]:
        """One without loops for each step of the loops; `positions`: the variables of the position, with extents."""
        every = [range(int(axis.extent)) for axis in self.loops if isinstance(axis.extent, int)]
        for point in itertools.product(*every):
            at: dict[Var, Expr] = {
                axis.var: const(n, INDEX) for axis, n in zip(self.loops, point, strict=True)
            }
            with analysis(positions, ()) as analyzer:
                values = {var: analyzer.simplify(substitute(value, at)) for var, value in self.values.items()}
                condition = self.condition
                if condition is not None:
                    condition = analyzer.simplify(substitute(condition, at))
            always = isinstance(condition, Const) and bool(condition.value)
            yield Inverse(values, (), None if always else condition)


def invert(
    indices: Sequence[Expr],
    positions: Sequence[tuple[Var, int]],
    domain: Mapping[Var, int],
    equalities: Sequence[Compare] = (),
) -> Inverse:
    """Who reads `positions` (variables with their extents), where element `indices` is read over `domain`.

    `equalities` of indices hold there, too.  What is no sum of the variables becomes a condition.
    """
    return _System(indices, positions, domain, equalities).solved()


class _System:
    """Sums that are zero, of variables that are known by now and of unknown ones."""

    def __init__(
        self,
        indices: Sequence[Expr],
        positions: Sequence[tuple[Var, int]],
        domain: Mapping[Var, int],
        equalities: Sequence[Compare],
    ) -> None:
        self.positions = dict(positions)
        self.domain = domain
        self.loops: list[IterVar] = []
        self.decided: list[tuple[Var, Expr]] = []
        self.splits: list[tuple[Var, Expr]] = []
        self.conditions: list[Expr] = []
        divisions = Divisions(dict(domain))
        self.extents = divisions.extents
        self.equations: list[Linear] = []
        for index, (position, _) in zip(indices, positions, strict=True):
            found = divisions.linear(index)
            if found is None:
                self.conditions.append(eq(index, position))
            else:
                self.equations.append(found.plus(of(position), -1))
        for equality in equalities:
            a, b = divisions.linear(equality.a), divisions.linear(equality.b)
            if a is None or b is None:
                self.conditions.append(equality)
            else:
                self.equations.append(a.plus(b, -1))
        self.fixed = divisions.fixed
        self.equations += divisions.equations()
        self.unknown = set(self.extents)
        for var in domain:
            if not any([var in equation.factors for equation in self.equations]):
                self._loop(var)

    def solved(self) -> Inverse:
        """Equations are solved in any order; where none can be, one unknown variable becomes a loop."""
        while open_ := [e for e in self.equations if not self.unknown.isdisjoint(e.factors)]:
            solved = next((equation for equation in open_ if self._solve(equation)), None)
            if solved is None:
                self._loosen(open_)
            self.equations = [equation for equation in self.equations if equation is not solved]
        for equation in self.equations:  # of variables that others have decided
            self.conditions.append(eq(equation.expression(), 0))
        return self._inverse()

    def _solve(self, equation: Linear) -> bool:
        """Whether the equation decides its unknown variables, as digits of a mixed radix."""
        digits = [(abs(f), var) for var, f in equation.factors.items() if var in self.unknown]
        digits.sort(key=lambda digit: digit[0])
        reach = 0
        for factor, var in digits:
            if factor <= reach:
                return False
            reach += factor * (self.extents[var] - 1)
        rest = Linear({v: -f for v, f in equation.factors.items() if v not in self.unknown}, -equation.offset)
        if digits and equation.factors[digits[-1][1]] < 0:
            rest, equation = rest.scaled(-1), equation.scaled(-1)
        for factor, var in digits:
            if equation.factors[var] < 0:  # counted from its other end
                rest = rest.plus(constant(factor * (self.extents[var] - 1)))
        left = rest.expression()
        for factor, var in reversed(digits):
            digit, left = floordiv(left, factor), floormod(left, factor)
            if equation.factors[var] < 0:
                digit = sub(self.extents[var] - 1, digit)
            self.unknown.discard(var)
            self.decided.append((var, digit))
            self.conditions += [ge(var, 0), lt(var, self.extents[var])]
        if digits and digits[0][0] > 1:
            self.conditions.append(eq(left, 0))
        return bool(digits)

    def _loosen(self, equations: Sequence[Linear]) -> None:
        """One unknown variable becomes a loop: of two that overlap, the steps of the greater one alone, which are a
        quotient where there is one."""
        for equation in equations:
            terms = [(abs(f), var) for var, f in equation.factors.items() if var in self.unknown]
            if len(terms) != 2:
                continue
            (small, fine), (large, coarse) = sorted(terms, key=lambda term: term[0])
            if small < large and large % small == 0 and self.extents[fine] > large // small:
                steps = -(-self.extents[fine] // (large // small))
                if coarse not in self.domain and self.extents[coarse] <= steps + 1:
                    self._loop(coarse)
                else:
                    self._split(fine, large // small)
                return
        # in the order of the equations, not of addresses: several may have one name and extent
        candidates = dict.fromkeys(v for e in equations for v in e.factors if v in self.unknown)
        self._loop(min(candidates, key=lambda var: (self.extents[var], var.name)))

    def _split(self, var: Var, width: int) -> None:
        """`var` as `width * t + u`: a loop over t, and an unknown u."""
        steps, inner = Var(INDEX, f"{var.name}_o"), Var(INDEX, f"{var.name}_i")
        self.extents[inner] = width
        self.extents[steps] = -(-self.extents[var] // width)
        self.unknown.discard(var)
        self.unknown.add(inner)
        self._loop(steps)
        value = Linear({steps: width, inner: 1})
        self.equations = [equation.replaced(var, value) for equation in self.equations]
        self.splits.append((var, value.expression()))
        self.conditions.append(lt(var, self.extents[var]))

    def _loop(self, var: Var) -> None:
        self.unknown.discard(var)
        if self.extents[var] == 1:  # as axes have that a reduction has kept
            self.decided.append((var, const(0, INDEX)))
        else:
            self.loops.append(IterVar(var, self.extents[var], "reduce"))

    def _inverse(self) -> Inverse:
        """Everything over positions and loops of its own, and simplified."""
        loops = [IterVar(Var(INDEX, axis.var.name), axis.extent, "reduce") for axis in self.loops]
        values: dict[Var, Expr] = {old.var: new.var for old, new in zip(self.loops, loops, strict=True)}
        values |= self.fixed
        ranges = {**self.positions, **{axis.var: axis.extent for axis in loops}}
        kept: list[Expr] = []
        with analysis(ranges, ()) as analyzer:
            for var, value in (*self.decided, *reversed(self.splits)):
                values[var] = analyzer.simplify(substitute(value, values))
            for condition in self.conditions:
                found = analyzer.simplify(substitute(condition, values))
                if not analyzer.prove(found):
                    kept.append(found)
        made = {var: values[var] for var in self.domain}
        return Inverse(made, tuple(_in_order(loops, list(made.values()))), both(*kept))


def _in_order(loops: Sequence[IterVar], values: Sequence[Expr]) -> list[IterVar]:
    """The loops as the variables of the domain stand that they decide: the last one runs where lines do."""
    used = [set(free_vars(value)) for value in values]

    def place(axis: IterVar) -> int:
        return next((k for k, found in enumerate(used) if axis.var in found), len(used))

    return sorted(loops, key=place)


def both(*conditions: Expr | None) -> Expr | None:
    """All of the conditions, each evaluated only where those before it hold; None is always."""
    found = None
    for condition in conditions:
        if condition is not None:
            found = condition if found is None else select(found, condition, False)
    return found


def is_shifted(expr: Expr, var: Var) -> bool:
    """Whether it is the variable, or a constant beside it."""
    if isinstance(expr, Binary) and expr.op in ("add", "sub") and isinstance(expr.b, Const):
        expr = expr.a
    return expr is var


def conjuncts(e: Expr) -> Iterator[Expr]:
    """The conditions that all hold where `e` does, each evaluated only where those before it hold."""
    if isinstance(e, Binary) and e.op == "and":
        yield from conjuncts(e.a)
        yield from conjuncts(e.b)
    elif isinstance(e, Select) and isinstance(e.otherwise, Const) and not e.otherwise.value:
        yield from conjuncts(e.condition)
        yield from conjuncts(e.then)
    else:
        yield e
