"""Multiversioning of a segment: the same program where more is known of its dims, each with a schedule of its own.

A kernel chooses among them when it runs.  All of them have the kernel's operands; the whole segment serves what no
guard holds of.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Generic, TypeVar

from ....base.arith import (
    Analyzer,
    AnyDim,
    Const,
    Expr,
    Var,
    const,
    free_vars,
    hinted,
    identical,
    logical_and,
    ne,
    structural_equal,
    substitute,
)
from ....base.arith.expr import Dim
from ....base.errors import CodegenError
from ....base.vocabulary import INDEX, dataclass
from ....declaration import OpDeclaration
from ....ir import Call, Function, post_order
from ....lower.schedule import Specialisation, specialisation
from ....operator import Op, bind, broadcast_pair, numbers_in_broadcasts
from .dims import sizes_of
from .retyping import retyped
from .shape_preconditions import shape_preconditions

MAX_VERSIONS: Final = 4  # of a segment, the whole of it included

Pair = tuple[Expr, Var]
A = TypeVar("A")
Values = Mapping[Var, Expr]


@dataclass(frozen=True, slots=True)
class Version(Generic[A]):
    """What a segment is where the specialisation's guard holds."""

    specialisation: Specialisation
    what: A


def distinct(specialisations: Sequence[Specialisation]) -> list[Specialisation]:
    """The first of the specialisations, without those whose guards come before, as many as there may be."""
    found: list[Specialisation] = []
    for each in specialisations:
        if not any(structural_equal(each.guard, before.guard) for before in found):
            found.append(each)
    return found[: MAX_VERSIONS - 1]


def broadcast_guards(function: Function) -> tuple[tuple[Expr, Expr], ...]:
    """The pairs of symbolic dims of a segment that meet in broadcasts: they are equal, or one of them is 1."""
    found: dict[str, tuple[Expr, Expr]] = {}
    for dim in sizes_of(list(post_order(function.body))):
        pair = broadcast_pair(dim)
        if pair is not None:
            found.setdefault(str(dim), pair)
    return tuple(found.values())


def why_not_versions(function: Function) -> str | None:
    """Why the dims of a segment that meet in broadcasts have no versions; None where they have, or none meet."""
    pairs = broadcast_guards(function)
    oriented = [_oriented(*pair) for pair in pairs]
    dims = [pair[1] for pair in oriented if pair is not None]
    used = {var for pair in oriented if pair is not None for var in free_vars(pair[0])}
    alternatives = math.prod([1 + len(_ones(pair)) for pair in oriented if pair is not None])
    fits = len(dims) == len(pairs) == len(set(dims)) and used.isdisjoint(dims)
    if fits and alternatives <= MAX_VERSIONS:
        return None
    shown = ", ".join([f"{x} and {y}" for x, y in pairs])
    return f"more dims meet in broadcasts than one kernel has versions for: {shown}"


def _oriented(a: Expr, b: Expr) -> Pair | None:
    """Two sizes that meet, the second a whole dim that the first does not depend on, and is where they are equal.

    None where neither is that, or the first may be 1 and is no dim that can be told to be.
    """
    for size, dim in ((a, b), (b, a)):
        apart = isinstance(dim, Var) and dim not in free_vars(size)
        if apart and (isinstance(size, Var) or Analyzer().prove(ne(size, 1))):
            assert isinstance(dim, Var)
            return size, dim
    return None


def _ones(pair: Pair) -> list[Var]:
    """Which of two sizes that meet may be 1 where they are not equal."""
    return [dim for dim in pair if isinstance(dim, Var)]


def broadcast_pairs(function: Function) -> tuple[Pair, ...]:
    """The sizes of a segment that meet in broadcasts, each with the dim that is it or 1; none where none do.

    Raises CodegenError where they have no versions.
    """
    why_not = why_not_versions(function)
    if why_not is not None:
        raise CodegenError(why_not)
    found = [_oriented(*pair) for pair in broadcast_guards(function)]
    return tuple([pair for pair in found if pair is not None])


def find_broadcast_number(function: Function) -> Pair | None:
    """A number and the dim of a segment that meets it in broadcasts, and so is that or 1; None where none does.

    A dim that meets several numbers, or of which the ops require that it is not 1, is none.
    """
    met: dict[Var, set[int]] = {}
    for number, dim in _numbers_met(function):
        if isinstance(dim, Var) and number > 1:
            met.setdefault(dim, set()).add(number)
    for dim in met:
        if len(met[dim]) == 1 and _may_be_one(function, dim):
            return const(met[dim].pop(), INDEX), dim
    return None


def _numbers_met(function: Function) -> Iterator[tuple[int, Expr]]:
    """(number, size) of the broadcasts of a segment: the types of its calls are asked."""
    for node in post_order(function.body):
        if not isinstance(node, Call) or not isinstance(node.op, Op):
            continue
        declaration: OpDeclaration | None = node.op.get_attr("declaration")
        if declaration is not None:
            types = [arg.checked_type for arg in node.args]
            with numbers_in_broadcasts() as met:
                bind(declaration.signature, node.op.name, node.attrs, types, site=node.span)
            yield from met


def _may_be_one(function: Function, dim: Var) -> bool:
    """Whether nothing that the ops of a segment require refuses that a dim is 1."""
    for each in shape_preconditions(function):
        if dim in free_vars(each.condition):
            known = Analyzer().simplify(substitute(each.condition, {dim: const(1, INDEX)}))
            if isinstance(known, Const) and not known.value:
                return False
    return True


def apart(pairs: Sequence[Pair]) -> tuple[Specialisation, ...]:
    """Where some of the sizes that meet differ: one of the two is 1.  The most of such pairs come first."""
    choices: list[list[Var | None]] = [[*_ones(pair), None] for pair in pairs]  # None: they are equal
    found: list[Specialisation] = []
    for chosen in sorted(itertools.product(*choices), key=lambda each: each.count(None)):
        ones = [dim for dim in chosen if dim is not None]
        if not ones:
            continue
        each = [specialisation(dim, 1, 1) for dim in ones]
        guard, values = each[0].guard, {dim: value for one in each for dim, value in one.values.items()}
        for one in each[1:]:
            guard = logical_and(guard, one.guard)
        values.update({dim: size for (size, dim), one in zip(pairs, chosen, strict=True) if one is None})
        found.append(Specialisation(" and ".join(map(str, each)), guard, values))
    return tuple(found)


def specialise_broadcast_number(dim: Var) -> tuple[Specialisation, ...]:
    """Where a dim that meets a number differs from it."""
    return (specialisation(dim, 1, 1),)


def specialised(function: Function, values: Values) -> Function:
    """A segment of which dims are replaced by what they are known to be."""
    return _resized(function, lambda dim: _dim(dim, values))


def opened(function: Function) -> Function:
    """A segment in which sizes that no whole dim of an operand binds, such as `n + m`, are dims of their own.

    Operands that are there for their dims alone do not count: what the others' types say of one another is kept, but
    where sizes that meet in broadcasts have no versions otherwise, as `n` and `(n + 1) // 2 * 2`.
    """
    made = _opened(function, kept=True)
    if why_not_versions(made) is None:
        return made
    wholly = _opened(function, kept=False)
    return wholly if why_not_versions(wholly) is None else made


def _opened(function: Function, kept: bool) -> Function:
    """`kept`: sizes that are made of dims which operands bind stay as they are."""
    if not any([isinstance(dim, Expr) for dim in sizes_of(function.params)]):
        return function
    used = {id(node) for node in post_order(function.body)}
    sizes = list(sizes_of([param for param in function.params if id(param) in used]))
    bound = {dim for dim in sizes if isinstance(dim, Var)}
    made: dict[str, Var] = {}
    for dim in sizes:
        if not isinstance(dim, AnyDim | Var) and not (kept and bound.issuperset(free_vars(dim))):
            made.setdefault(_name(dim), Var(INDEX, f"d{len(made)}", size=True, hint=hinted(dim)))
    return _resized(function, lambda dim: made.get(_name(dim), dim)) if made else function


def _name(dim: Expr) -> str:
    """The text of a size with the identity of its dims, by which it is known."""
    return f"{dim} {[id(var) for var in free_vars(dim)]}"


def _resized(function: Function, sized: Callable[[Expr], Dim]) -> Function:
    """A segment with other sizes in place of those that are expressions, in types and in attrs."""
    return retyped(
        function, lambda dim: dim if isinstance(dim, int) else sized(dim), lambda value: _value(value, sized)
    )


def _dim(dim: Expr, values: Values) -> Dim:
    if set(values).isdisjoint(free_vars(dim)):
        return dim
    found = Analyzer().simplify(substitute(dim, values))
    return int(found.value) if isinstance(found, Const) else found


def _value(value: object, sized: Callable[[Expr], Dim]) -> object:
    if isinstance(value, tuple):
        parts = tuple([_value(part, sized) for part in value])
        return value if identical(parts, value) else parts
    return sized(value) if isinstance(value, Expr) else value
