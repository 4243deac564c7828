"""The range of an index while some loop variables vary: what part of a tensor a loop's iteration needs."""

from __future__ import annotations

from collections.abc import Mapping

from ..vocabulary import INDEX
from .expr import Binary, Cast, Const, Expr, Select, Var
from .literals import const
from .visit import Remembered

Terms = dict[Expr, int]  # atom -> coefficient; the atoms are vars, or expressions in which nothing varies
Range = tuple[Terms, int, int]  # atoms of the least value, its constant part, and how many values there are


def linear(terms: Terms, constant: int) -> Expr:
    """The sum of the terms and the constant."""
    total: Expr | None = None
    for atom, factor in terms.items():
        if factor:
            part = atom * factor
            total = part if total is None else total + part
    return const(constant, INDEX) if total is None else total + constant


class Relaxer(Remembered["Range | None"]):
    """Ranges of index expressions over `extents`: the vars that vary, from 0, and how many values each takes.

    What was found is remembered, so `extents` and `fixed` must not change.
    """

    def __init__(self, extents: Mapping[Var, int | None], fixed: Mapping[Var, int]) -> None:
        super().__init__()
        self.extents = extents  # None: it varies over an unknown range
        self.fixed = fixed  # the extents of vars that stay
        self._atoms: dict[tuple[object, ...], Expr] = {}
        self._remainders: dict[
            Expr, tuple[Expr, Terms, int, int]
        ] = {}  # atom -> quotient, terms, constant, divisor

    def range(self, e: Expr) -> Range | None:
        """The values of `e`; None where nothing is known."""
        return self.of(e)

    def _parts(self, node: Expr) -> tuple[Expr, ...]:
        if isinstance(node, Binary):
            return (node.a, node.b)
        if isinstance(node, Select):
            return (node.then, node.otherwise)
        return (node.a,) if isinstance(node, Cast) and node.dtype.is_int and node.a.dtype.is_int else ()

    def _value(self, node: Expr) -> Range | None:
        if isinstance(node, Const):
            return {}, int(node.value), 1
        if isinstance(node, Var):
            if node not in self.extents:
                return {node: 1}, 0, 1
            extent = self.extents[node]
            return None if extent is None else ({}, 0, extent)
        if isinstance(node, Binary):
            return self._binary(node)
        operands = self._parts(node)
        if isinstance(node, Select):
            return _union(*(self[side] for side in operands))
        return self[operands[0]] if operands else None

    def _binary(self, e: Binary) -> Range | None:
        a, b = self[e.a], self[e.b]
        if a is None or b is None:
            return None
        if e.op in ("add", "sub"):
            return self._joined(_sum(a, b if e.op == "add" else _scaled(b, -1)))
        if e.op == "mul":
            for x, y in ((a, b), (b, a)):
                if not y[0] and y[2] == 1:
                    return _scaled(x, y[1])
            return self._single(e.op, a, b)
        if e.op in ("min", "max"):
            return self._limited(e.op, a, b)
        divisor = b[1] if not b[0] and b[2] == 1 else 0
        if divisor <= 0:
            return self._single(e.op, a, b) if e.op in ("floordiv", "floormod") else None
        if e.op == "floordiv":
            return self._quotient(a, divisor)
        return self._remainder(a, divisor) if e.op == "floormod" else None

    def _single(self, op: str, a: Range, b: Range) -> Range | None:
        """What two numbers that stay give: a product, or a quotient or remainder by a symbolic dim."""
        if a[2] != 1 or b[2] != 1:
            return None
        key = (op, frozenset(a[0].items()), a[1], frozenset(b[0].items()), b[1])
        if key not in self._atoms:
            self._atoms[key] = Binary(INDEX, op, linear(a[0], a[1]), linear(b[0], b[1]))
        return {self._atoms[key]: 1}, 0, 1

    def _limited(self, op: str, a: Range, b: Range) -> Range | None:
        """What the least or greatest of two is: a range where nothing that stays tells it."""
        if a[0] or b[0]:
            return self._single(op, a, b)
        pick = min if op == "min" else max
        low = pick(a[1], b[1])
        return {}, low, pick(a[1] + a[2], b[1] + b[2]) - low

    def _joined(self, a: Range) -> Range:
        """With each `x // d * d + x % d` as `x`, such as of a position that was taken apart and put together again."""
        for atom in [atom for atom in a[0] if atom in self._remainders]:
            quotient, terms, constant, divisor = self._remainders[atom]
            factor = a[0].get(atom, 0)
            if factor and a[0].get(quotient) == factor * divisor:
                rest = {each: own for each, own in a[0].items() if each is not atom and each is not quotient}
                a = self._joined(_sum((rest, a[1], a[2]), _scaled((terms, constant, 1), factor)))
        return a

    def _quotient(self, a: Range, divisor: int) -> Range:
        terms, constant, extent = a
        kept = {atom: factor // divisor for atom, factor in terms.items() if factor % divisor == 0}
        rest = {atom: factor for atom, factor in terms.items() if factor % divisor}
        low, high = self._bounds(rest, constant)
        if not rest:
            return kept, constant // divisor, (constant + extent - 1) // divisor - constant // divisor + 1
        if low is not None and high is not None and low // divisor == (high + extent - 1) // divisor:
            return kept, low // divisor, 1
        whole = self._atom("floordiv", rest, constant, divisor)
        exact = extent == 1
        return {**kept, whole: 1}, 0, 1 if exact else (extent - 1 + divisor - 1) // divisor + 1

    def _remainder(self, a: Range, divisor: int) -> Range:
        terms, constant, extent = a
        rest = {atom: factor for atom, factor in terms.items() if factor % divisor}
        low, high = self._bounds(rest, constant)
        if low is not None and high is not None and low // divisor == (high + extent - 1) // divisor:
            return rest, constant - low // divisor * divisor, extent
        if extent == 1:
            return {self._atom("floormod", rest, constant, divisor): 1}, 0, 1
        return {}, 0, divisor

    def _atom(self, op: str, terms: Terms, constant: int, divisor: int) -> Expr:
        """A quotient or remainder as an atom: one object however often it is met, so that ranges can be joined."""
        key = (op, frozenset(terms.items()), constant, divisor)
        found = self._atoms.get(key)
        if found is None:
            total = linear(terms, constant)
            found = self._atoms[key] = total // divisor if op == "floordiv" else total % divisor
            if op == "floormod":
                quotient = self._atom("floordiv", terms, constant, divisor)
                self._remainders[found] = quotient, dict(terms), constant, divisor
        return found

    def _bounds(self, terms: Terms, constant: int) -> tuple[int | None, int | None]:
        """The least and greatest value over the vars that stay."""
        low = high = constant
        for atom, factor in terms.items():
            extent = self.fixed.get(atom) if isinstance(atom, Var) else None
            if extent is None:
                return None, None
            low += min(0, factor * (extent - 1))
            high += max(0, factor * (extent - 1))
        return low, high


def _sum(a: Range, b: Range) -> Range:
    terms = dict(a[0])
    for atom, factor in b[0].items():
        terms[atom] = terms.get(atom, 0) + factor
        if not terms[atom]:
            del terms[atom]
    return terms, a[1] + b[1], a[2] + b[2] - 1


def _scaled(a: Range, factor: int) -> Range:
    if factor == 0:
        return {}, 0, 1
    terms = {atom: own * factor for atom, own in a[0].items()}
    span = (a[2] - 1) * abs(factor)
    return terms, a[1] * factor - (span if factor < 0 else 0), span + 1


def _union(a: Range | None, b: Range | None) -> Range | None:
    """A range that holds both; None where their distance is not known."""
    if a is None or b is None or a[0] != b[0]:
        return None
    low = min(a[1], b[1])
    return a[0], low, max(a[1] + a[2], b[1] + b[2]) - low


def union(ranges: list[Range | None]) -> Range | None:
    """A range that holds all; None where that is not known."""
    total = ranges[0]
    for other in ranges[1:]:
        total = _union(total, other)
    return total
