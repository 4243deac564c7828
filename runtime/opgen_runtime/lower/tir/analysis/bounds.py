"""Whether loop IR that people write stays inside its buffers: proved, refuted by an example, or neither.

x, y: float32[n]; for i in range(n): y[i] = x[i + 1]  -->  x[i + 1]: index 0 is 1 where n = 1, i = 0, the dim is n

An access is proved under the loops and conditions around it, for all dims.  Where it is not, small dims and ends of
loops are tried; a point of the loops at which all that is around an access lets it run, and it is outside, refutes it.
What depends on elements is neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ....base.arith import (
    Analyzer,
    Expr,
    Var,
    conjuncts,
    const,
    evaluate_scalar,
    holds,
    le,
    logical_and,
    logical_not,
    lt,
    post_order,
    substitute,
)
from ....base.vocabulary import INDEX, dataclass
from ..nodes.stmt import For, If, LetStmt, Load, PrimFunc, Stmt, Store
from ..nodes.visit import children, exprs
from .guards import SEVERAL, Guard, guards_of

_EFFORT: Final = 8
_SIZES: Final = (1, 2, 3, 4, 5, 7, 8, 16, 17, 64, 0)  # of dims, which are tried together
_FEW: Final = 8  # iterations of a loop that are all tried; of longer ones the first and the last
_MAX_POINTS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Loop:
    """`minimum <= var < minimum + extent` around an access."""

    var: Var
    minimum: Expr
    extent: Expr


@dataclass(frozen=True, slots=True)
class Value:
    """`var` is `value` around an access."""

    var: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Fact:
    """`condition` holds around an access; None: what holds there is not known."""

    condition: Expr | None


Around: TypeAlias = Loop | Value | Fact
Access: TypeAlias = Load | Store


@dataclass(frozen=True, slots=True)
class Unproved:
    """An access whose index `position` is not proved to lie inside; `example`: where it is outside, as text."""

    access: Access
    position: int
    example: str | None

    def __str__(self) -> str:
        indices, extent = self.access.indices, self.access.buffer.shape[self.position]
        text = f"{self.access.buffer.name}[{', '.join(map(str, indices))}]"
        what = "is not proved to be inside" if self.example is None else self.example
        return f"{text}: index {self.position} {what}, the dim is {extent}"


def unproved_accesses(func: PrimFunc) -> tuple[Unproved, ...]:
    """The accesses of a kernel, before its phases, that are not proved to stay inside their buffers, in order."""
    return tuple(_statement(func, func.body, ()))


def _statement(func: PrimFunc, s: Stmt, around: tuple[Around, ...]) -> Iterator[Unproved]:
    for root in exprs(s):
        order = post_order(root)
        guards = guards_of(order)
        for node in order:
            if isinstance(node, Load):
                yield from _access(func, node, (*around, *_guarding(guards[id(node)])))
    if isinstance(s, Store):
        yield from _access(func, s, around)
    for k, part in enumerate(children(s)):
        yield from _statement(func, part, (*around, *_inside(s, k)))


def _inside(s: Stmt, number: int) -> tuple[Around, ...]:
    """What a statement says of its part of that number."""
    if isinstance(s, For):
        return (Loop(s.var, s.minimum, s.extent),)
    if isinstance(s, LetStmt):
        return (Value(s.var, s.value),)
    if isinstance(s, If):
        return (Fact(logical_not(s.condition) if number else s.condition),)
    return ()


def _guarding(guard: Guard | None) -> list[Around]:
    found: list[Around] = []
    while guard is not None:
        if guard is SEVERAL:
            return [Fact(None)]
        found.append(Fact(logical_not(guard.condition) if guard.inverted else guard.condition))
        guard = guard.outer
    return found[::-1]


def _access(func: PrimFunc, access: Access, around: tuple[Around, ...]) -> Iterator[Unproved]:
    if access.mask is not None:
        around = (*around, Fact(access.mask))
    known, values = _written_out(around)
    for position, (index, dim) in enumerate(zip(access.indices, access.buffer.shape, strict=True)):
        extent = dim if isinstance(dim, Expr) else const(dim, INDEX)
        place = substitute(index, values)
        within = logical_and(le(0, place), lt(place, extent))
        if _analyzer(known).prove(within):
            continue
        example = _Search(func.dims, known, place, extent).example()
        if example is not None or not _analyzer(known).prove(within, _EFFORT):
            yield Unproved(access, position, example)


def _written_out(around: Sequence[Around]) -> tuple[list[Loop | Fact], dict[Var, Expr]]:
    """The loops and facts with the values of names in their places, and these; names of elements stay."""
    values: dict[Var, Expr] = {}
    found: list[Loop | Fact] = []
    for each in around:
        if isinstance(each, Loop):
            found.append(Loop(each.var, substitute(each.minimum, values), substitute(each.extent, values)))
        elif isinstance(each, Fact):
            found.append(Fact(None if each.condition is None else substitute(each.condition, values)))
        elif not _reads(each.value):
            values[each.var] = substitute(each.value, values)
    return found, values


def _analyzer(around: Sequence[Loop | Fact]) -> Analyzer:
    """An analyzer that knows what is around an access and has no elements in it."""
    analyzer = Analyzer()
    for each in around:
        if isinstance(each, Loop):
            if not (_reads(each.minimum) or _reads(each.extent)):
                analyzer.bind(each.var, each.minimum, each.extent)
        elif each.condition is not None:
            for part, truth in conjuncts(each.condition, True):
                if not _reads(part):
                    analyzer.given(part if truth else logical_not(part))
    return analyzer


def _reads(e: Expr) -> bool:
    return holds(e, Load)


class _Search:
    """Looks for dims and iterations at which an index is outside."""

    def __init__(self, dims: Sequence[Var], around: Sequence[Loop | Fact], index: Expr, extent: Expr) -> None:
        self.dims, self.around, self.index, self.extent = dims, around, index, extent
        self.left = _MAX_POINTS

    def example(self) -> str | None:
        """`is 1 where n = 1, i = 0`; None where none is found."""
        for size in _SIZES if self.dims else _SIZES[:1]:
            most = [size if each.most is None else min(size, each.most) for each in self.dims]
            sizes = [max(each.least, one) for each, one in zip(self.dims, most, strict=True)]
            for found in self._points(0, dict(zip(self.dims, sizes, strict=True))):
                if self.left < 0:
                    return None
                value = int(evaluate_scalar(self.index, found))
                if not 0 <= value < int(evaluate_scalar(self.extent, found)):
                    loops = [each.var for each in self.around if isinstance(each, Loop)]
                    shown = ", ".join([f"{var} = {found[var]}" for var in (*self.dims, *loops)])
                    return f"is {value} where {shown}" if shown else f"is {value}"
        return None

    def _points(self, depth: int, known: dict[Var, int]) -> Iterator[Mapping[Var, int]]:
        """Values of the vars at which the access runs; none where it depends on elements whether it does."""
        self.left -= 1
        if self.left < 0:
            return
        if depth == len(self.around):
            if self._is_known(self.index, known) and self._is_known(self.extent, known):
                yield known
            return
        each = self.around[depth]
        if isinstance(each, Fact):
            condition = each.condition
            if (
                condition is not None
                and self._is_known(condition, known)
                and evaluate_scalar(condition, known)
            ):
                yield from self._points(depth + 1, known)
        elif self._is_known(each.minimum, known) and self._is_known(each.extent, known):
            first = int(evaluate_scalar(each.minimum, known))
            for value in _some(first, int(evaluate_scalar(each.extent, known))):
                yield from self._points(depth + 1, {**known, each.var: value})

    def _is_known(self, e: Expr, known: Mapping[Var, int]) -> bool:
        nodes = post_order(e)
        return not _reads(e) and all(node in known for node in nodes if isinstance(node, Var))


def _some(first: int, count: int) -> Sequence[int]:
    """Iterations of a loop, the last of long ones among them."""
    if count <= _FEW:
        return range(first, first + count)
    return (first, first + 1, first + count - 2, first + count - 1)
