"""Linear equations between extents, as what a call must satisfy gives them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ....base.arith import const, eq, floordiv, free_vars, negate, structural_equal, substitute
from ....base.arith.conditions import conjuncts
from ....base.arith.expr import AnyDim, Compare, Const, Dim, Expr, Var
from ....base.vocabulary import INDEX
from ..recall import simplified


class NoSolutionError(Exception):
    """No extents satisfy an equation; the text says why, after a colon, where the equation does not show it."""


def as_expr(extent: Dim) -> Expr:
    return extent if isinstance(extent, Expr) else const(extent, INDEX)


class Extents:
    """The values of unknown extents, as far as equations have given them: ints, or expressions of the user's dims."""

    def __init__(self, unknown: Collection[Var]) -> None:
        self.unknown = frozenset(unknown)
        self.found: dict[Var, Dim] = {}

    def value(self, extent: Dim) -> Dim:
        """An extent with what has been found of it put in."""
        if type(extent) is int or not isinstance(extent, Expr) or isinstance(extent, AnyDim):
            return extent
        found = self.found.get(extent, extent) if isinstance(extent, Var) else self._filled(extent)
        return int(found.value) if isinstance(found, Const) else found

    def is_known(self, extent: Dim) -> bool:
        value = self.value(extent)
        return isinstance(value, int) or not self._open(value)

    def solve(self, conditions: Iterable[Expr]) -> bool:
        """Takes what the equations among the conditions determine; whether that was anything.

        Raises NoSolutionError where an extent would be no natural number, or two numbers would be equal.
        """
        equations = _equations(conditions)
        before = len(self.found)
        progress = True
        while progress:
            progress = any([self._take(a, b) for a, b in equations])
        return len(self.found) > before

    def equate(self, extent: Dim, known: Dim) -> bool:
        """Takes what it determines that an extent is a known one; whether that was anything.  Raises like `solve`."""
        if isinstance(extent, AnyDim) or isinstance(known, AnyDim):
            return False
        if isinstance(known, int):
            value = self.value(extent)
            if isinstance(value, int):
                if value != known:
                    raise NoSolutionError
                return False
            if isinstance(value, Var) and value in self.unknown:
                self._give(value, known)
                return True
        return self.solve([eq(as_expr(extent), as_expr(known))])

    def any_left(self, conditions: Iterable[Expr]) -> bool:
        """Whether an equation of known extents is none of numbers: one that need not hold."""
        differences = [self._filled(a - b) for a, b in _equations(conditions)]
        return any(not isinstance(d, Const) and not self._open(d) for d in differences)

    def _filled(self, extent: Expr) -> Expr:
        values = {var: as_expr(value) for var, value in self.found.items()}
        return simplified(substitute(extent, values))

    def _open(self, extent: Expr) -> list[Var]:
        return [var for var in free_vars(extent) if var in self.unknown and var not in self.found]

    def _take(self, a: Expr, b: Expr) -> bool:
        """Solves one equation for an extent that it determines, by itself or by the other unknown ones."""
        if isinstance(a, AnyDim) or isinstance(b, AnyDim):
            return False
        difference = self._filled(a - b)
        candidates = self._open(difference)
        if not candidates and isinstance(difference, Const) and difference.value:
            raise NoSolutionError
        for var in candidates:
            value = _root(difference, var, alone=len(candidates) == 1)
            if value is not None:
                self._give(var, value)
                return True
        return False

    def _give(self, var: Var, value: Dim) -> None:
        if isinstance(value, int) and value < 0:
            raise NoSolutionError(f": {var} would be {value}")
        self.found[var] = value
        for known in self.found:
            self.found[known] = self.value(self.found[known])


def _equations(conditions: Iterable[Expr]) -> list[tuple[Expr, Expr]]:
    return [
        (part.a, part.b)
        for condition in conditions
        for part, holds in conjuncts(condition, True)
        if holds and isinstance(part, Compare) and part.op == "eq" and part.a.dtype.is_int
    ]


def _root(difference: Expr, var: Var, alone: bool) -> Dim | None:
    """The value of `var` that makes `difference` 0, where it is linear in it; unless `alone`, of coefficient 1 or -1.

    Raises NoSolutionError where that is no integer.
    """
    offset = simplified(substitute(difference, {var: const(0, INDEX)}))
    slope = simplified(substitute(difference, {var: const(1, INDEX)}) - offset)
    if not isinstance(slope, Const) or not slope.value or not (alone or abs(slope.value) == 1):
        return None
    factor = int(slope.value)
    if not structural_equal(simplified(difference - (var * factor + offset)), const(0, INDEX)):
        return None
    if isinstance(offset, Const):
        if int(offset.value) % factor:
            raise NoSolutionError(f": {abs(int(offset.value))} is not a multiple of {abs(factor)}")
        return -int(offset.value) // factor
    root = offset if factor < 0 else negate(offset)
    found = simplified(root if abs(factor) == 1 else floordiv(root, const(abs(factor), INDEX)))
    return int(found.value) if isinstance(found, Const) else found
