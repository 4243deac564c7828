"""The analyzer: ranges, proofs and simplification of integer expressions under what is known of their vars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..vocabulary import BOOL, INDEX, INT64, DType
from . import build
from . import polynomial as poly
from .build import CONSTRUCTORS
from .conditions import Conditions, conjuncts
from .convert import VectorError
from .expr import AnyDim, Binary, Bitcast, Call, Cast, Compare, Const, Expr, Not, Select, Table, Var
from .intervals import ANYTHING, Interval
from .literals import bitcast, cast, const
from .polynomial import Monomial, Poly
from .prover import FUEL
from .ranges import CREDIT
from .visit import free_vars, identical

_MAX_DEPTH: Final = 200  # nested levels that are simplified


class Analyzer(Conditions):
    """What is known about the vars of index expressions, and what follows from it.

    Everything bound or assumed is taken to hold at the point where the analysed expressions are evaluated: in
    particular `bind` says that the loop's body runs, so its extent is at least 1.  Bind the axes of a nested loop or
    of a reduction inside `with analyzer.scope():`, which forgets them at the end, as `assume` does.  Index arithmetic
    is taken not to overflow; arithmetic on element values is not.  Values read from tensors are taken not to change
    while they are reasoned about.
    """

    __slots__ = ("_depth",)

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def bind(self, var: Var, minimum: int | Expr, extent: int | Expr) -> None:
        """Tell that 0 <= var - minimum < extent (and so that extent >= 1, and the condition of `n if c else 0`)."""
        if (
            isinstance(minimum, int)
            and isinstance(extent, int)
            and self._bound_by_numbers(var, minimum, extent)
        ):
            return
        while isinstance(extent, Select | Cast):
            if isinstance(extent, Cast):
                if extent.dtype is not INDEX or extent.a.dtype is not INT64:
                    break
                extent = extent.a
                continue
            if not isinstance(extent.otherwise, Const) or extent.otherwise.value > 0:
                break
            self.learn(extent.condition, True)
            extent = extent.then
        low = poly.constant(minimum) if isinstance(minimum, int) else self.poly(minimum)
        count = poly.constant(extent) if isinstance(extent, int) else self.poly(extent)
        self._fresh = False
        number = self._number(var)
        if count == {(): 1}:
            self.context.values[number] = low
            self.context.polys.clear()
            self.context.names.clear()
        a = poly.atom(number)
        last = poly.shift(poly.add(low, count), -1)
        span = Interval(self.range(low).lo, self.range(last).hi)
        self.context.ranges[number] = self.context.ranges.get(number, ANYTHING).meet(span)
        self._fact(poly.add(a, low, -1))
        self._fact(poly.add(last, a, -1))
        self._fact(poly.shift(count, -1))

    def _bound_by_numbers(self, var: Var, minimum: int, extent: int) -> bool:
        """Bind a var that was never met, over two values or more; whether that was done.

        What `bind` does with most vars, without asking polynomials of one var and a number what follows from them.
        """
        key = ("var", id(var))
        if extent < 2 or var.dtype is not INDEX or var.size or self.table.find(key) is not None:
            return False
        self.spend()
        self._fresh = False
        number = self.table.make(key, "var", var)
        last = minimum + extent - 1
        context = self.context
        context.polys[id(var)] = (var, poly.atom(number))
        context.ranges[number] = Interval(minimum, last)
        context.know({(number,): 1, (): -minimum} if minimum else {(number,): 1})
        context.know({(): last, (number,): -1} if last else {(number,): -1})
        context.changed()
        return True

    def _number(self, var: Var) -> int:
        """The atom of a var that is bound now; what was known of it under an earlier binding is forgotten."""
        key = ("var", id(var))
        number = self.table.find(key)
        if number is None:
            self.poly(var)
            number = self.table.find(key)
            assert number is not None
        elif number in self.context.ranges or number in self.context.values:
            self._forget(number)
        return number

    def _forget(self, number: int) -> None:
        context = self.context
        context.ranges.pop(number, None)
        context.values.pop(number, None)
        context.facts = {
            where: kept
            for where, facts in context.facts.items()
            if (kept := tuple(f for f in facts if not any(number in m for m in f)))
        }
        context.polys.clear()
        context.names.clear()
        context.changed()

    def prove(self, condition: Expr, effort: int = 1) -> bool:
        """True only if `condition`, a bool expression, certainly holds; False where no proof is found.

        `effort`: how many times as far as otherwise proofs are sought.
        """
        return all(self._prove(part, holds, FUEL * effort) for part, holds in conjuncts(condition, True))

    def _prove(self, part: Expr, truth: bool, fuel: int) -> bool:
        """A part by itself: the work that another takes leaves none for it otherwise."""
        with self.fuel(fuel):
            self._credit = CREDIT
            self._fresh = False
            return self.decide(part, truth) or (
                bool(self.context.either) and self.by_alternatives(part, truth)
            )

    def interval(self, e: Expr) -> Interval:
        """An interval that holds every value of the integer expression `e`."""
        try:
            return self.range(self.poly(e))
        except VectorError:
            return Interval()

    def simplify(self, e: Expr) -> Expr:
        """An expression of equal value under what is known, usually simpler.

        Index arithmetic becomes a canonical sum; comparisons, minima, maxima and choices that are decided by bounds
        are resolved.
        """
        cached = self.context.simplified.get(id(e))
        if cached is not None:
            return cached[1]
        if self._depth >= _MAX_DEPTH or not e.children() or not self.spend():
            return self._leaf(e)
        self._depth += 1
        try:
            self._fresh = False
            found = self._simplify(e)
        finally:
            self._depth -= 1
        self.context.simplified[id(e)] = (e, found)
        return found

    def _leaf(self, e: Expr) -> Expr:
        if isinstance(e, Var) and self.context.values and e.dtype is INDEX:
            return self._sum_of(self.poly(e), INDEX)
        return e

    def _simplify(self, e: Expr) -> Expr:
        if e.dtype is INDEX or e.dtype is INT64:
            try:
                found = self._index(e)
            except VectorError:
                found = None
            if found is not None:
                return found
        if e.dtype is BOOL:
            return self._condition(e)
        if isinstance(e, Select):
            return self._choice(e)
        return self._rebuilt(e)

    def _rebuilt(self, e: Expr) -> Expr:
        children = e.children()
        fresh = [self.simplify(c) for c in children]
        if identical(children, fresh):
            return e
        if isinstance(e, (Binary, Compare)):
            return CONSTRUCTORS[e.op](*fresh)
        if isinstance(e, Cast):
            return cast(fresh[0], e.dtype)
        if isinstance(e, Not):
            return build.bit_not(fresh[0])
        if isinstance(e, Call):
            return build.call(e.name, *fresh)
        if isinstance(e, Table) and isinstance(fresh[0], Const) and 0 <= fresh[0].value < len(e.values):
            return const(e.values[int(fresh[0].value)], e.dtype)
        if isinstance(e, Bitcast):
            return bitcast(fresh[0], e.dtype)
        return e.rebuild(fresh)

    def _index(self, e: Expr) -> Expr | None:
        """Index arithmetic in canonical form; None for other int64 arithmetic."""
        if not isinstance(e, (Binary, Cast, Select, Table, Call, Var)):
            return None
        p = self.poly(e)
        if self._fresh:
            return None
        atoms = self.table.atoms
        if any(atoms[a].expr is e for m in p for a in m):
            return None  # not understood: simplify below it
        if e.dtype is INT64 and any(atoms[a].kind == "element" for m in p for a in m):
            return None
        if self.table.untamed and self._holds_beyond(p):
            return None
        return self._sum_of(p, e.dtype)

    def _holds_beyond(self, p: Poly) -> bool:
        """Whether an atom of a polynomial may be greater than an index is, so that casts of it to one wrap."""
        for atom in [self.table.atoms[number] for m in p for number in m]:
            if atom.kind == "element" and atom.range.hi is not None and atom.range.hi > INDEX.highest:
                return True
            if self._holds_beyond(atom.x) or self._holds_beyond(atom.y):
                return True
        return False

    def _condition(self, e: Expr) -> Expr:
        known = self.holds(e)
        if known is not None:
            return const(known, BOOL)
        if isinstance(e, Binary) and e.op == "and":
            return build.logical_and(self.simplify(e.a), self.simplify(e.b))
        if isinstance(e, Binary) and e.op == "or":
            return build.logical_or(self.simplify(e.a), self.simplify(e.b))
        if isinstance(e, Not):
            return build.logical_not(self.simplify(e.a))
        if isinstance(e, Select):
            return self._choice(e)
        return self._rebuilt(e)

    def _choice(self, e: Select) -> Expr:
        condition = self.simplify(e.condition)
        if isinstance(condition, Const):
            return self.simplify(e.then if condition.value else e.otherwise)
        with self.suppose(condition, True):
            then = self.simplify(e.then)
        with self.suppose(condition, False):
            otherwise = self.simplify(e.otherwise)
        if condition is e.condition and then is e.then and otherwise is e.otherwise:
            return e
        return build.select(condition, then, otherwise)

    def coefficients(self, e: Expr) -> tuple[dict[Var, Poly], frozenset[Var]]:
        """What each var of an index expression is multiplied by, polynomials of symbolic dims; and the vars that occur
        otherwise, in quotients or products with each other.  Dims themselves are in neither.
        """
        found: dict[Var, Poly] = {}
        entangled: set[Var] = set()
        for monomial, factor in self.poly(e).items():
            parts = [self._moving(number) for number in monomial]
            moving = [k for k, part in enumerate(parts) if part]
            if not moving:
                continue
            atom = self.table.atoms[monomial[moving[0]]].expr
            if len(moving) > 1 or not isinstance(atom, Var):
                entangled.update(var for part in parts for var in part)
                continue
            rest = (*monomial[: moving[0]], *monomial[moving[0] + 1 :])
            found.setdefault(atom, {})[rest] = factor
        return found, frozenset(entangled)

    def _moving(self, number: int) -> list[Var]:
        """The vars of an atom, dims apart."""
        return [var for var in free_vars(self._atom_expr(number, INDEX)) if not var.size]

    # From polynomials back to expressions

    def expression(self, p: Poly) -> Expr:
        """A polynomial as an index expression."""
        return self._sum_of(p, INDEX)

    def _sum_of(self, p: Poly, dtype: DType) -> Expr:
        """The terms in the order in which their atoms were first met, those with a minus last."""
        total: Expr | None = None
        offset = p.get((), 0)
        positive = sorted(m for m, c in p.items() if m and c > 0)
        negative = sorted(m for m, c in p.items() if m and c < 0)
        if not positive and negative:
            total = const(offset, dtype)
            offset = 0
        for m in positive:
            term = self._term(m, p[m], dtype)
            total = term if total is None else build.add(total, term)
        for m in negative:
            total = build.sub(total, self._term(m, -p[m], dtype))
        if total is None:
            return const(offset, dtype)
        return build.add(total, offset) if offset else total

    def _term(self, m: Monomial, coefficient: int, dtype: DType) -> Expr:
        product: Expr | None = None
        for number in m:
            factor = cast(self._atom_expr(number, dtype), dtype)
            product = factor if product is None else build.mul(product, factor)
        return build.mul(product, coefficient)

    def _atom_expr(self, number: int, dtype: DType) -> Expr:
        atom = self.table.atoms[number]
        if atom.kind in ("div", "mod", "min", "max"):
            op = {"div": "floordiv", "mod": "floormod"}.get(atom.kind, atom.kind)
            return CONSTRUCTORS[op](self._sum_of(atom.x, dtype), self._sum_of(atom.y, dtype))
        e = atom.expr
        assert e is not None
        if isinstance(e, (Var, AnyDim)):
            return e
        return self._choice(e) if isinstance(e, Select) else self._rebuilt(e)


def detect_linear_equation(e: Expr, variables: Sequence[Var]) -> list[Expr]:
    """The factor of each variable in an index expression, and what is left without them; [] where it is not linear.

    Factors may be symbolic: i * n + j + 3 of i and j has [n, 1, 3].
    """
    analyzer = Analyzer()
    found, entangled = analyzer.coefficients(e)
    if not entangled.isdisjoint(variables) or any(var.size for var in variables):
        return []
    factors = [analyzer.expression(found.get(var, {})) for var in variables]
    rest = e
    for var, factor in zip(variables, factors, strict=True):
        rest = build.sub(rest, build.mul(var, factor))
    return [*factors, analyzer.simplify(rest)]
