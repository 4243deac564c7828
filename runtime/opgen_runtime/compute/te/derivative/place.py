"""The adjoint of a tensor from the terms of its readers: as sums that gather, or as updates that scatter.

Each term is what takes fewer steps.  A gather runs over the tensor and over what its position leaves open (`inverse`);
an update runs over the points at which the tensor is read, one after the other, which is why a step of it counts more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ....base.arith import (
    Binary,
    Compare,
    Const,
    Expr,
    Var,
    add,
    free_vars,
    literal,
    lt,
    post_order,
    rewrite,
    structural_equal,
    substitute,
)  # fmt: skip
from ....base.errors import LanguageError
from ....base.vocabulary import INDEX, DType, dataclass
from ..access import analysis
from ..construct import data_axes
from ..graph import Statement, expressions
from ..tensor import Compute, Guard, IterVar, Loop, Put, Read, Reduce, Tensor, Update, tensors_read
from .factors import Factored, factored
from .inverse import Inverse, both, conjuncts, invert, is_shifted
from .local import adjoint_dtype, where
from .ranges import cut
from .term import Term

_MAX_STEPS: Final = 1 << 40
_MAX_GATHER_STEPS: Final = (
    9  # which are written out where a line is read by residues, so that each residue has its own
)
_MAX_GATHER_RATIO: Final = (
    8  # steps of a gather, which are vectorised and shared among threads, for one of an update
)


@dataclass(frozen=True, slots=True)
class Gathered:
    """A term as a sum over `loops` of `value` where `condition` holds, at one position."""

    loops: tuple[IterVar, ...]
    condition: Expr | None
    value: Expr

    @property
    def is_empty(self) -> bool:
        """Whether the condition holds nowhere."""
        return isinstance(self.condition, Const) and not self.condition.value

    def factored(self) -> Factored:
        """The elements and what they have in common; under a condition, which may hold nowhere, that is nothing."""
        loops = [axis.var for axis in self.loops]
        return factored(self.value, loops) if self.condition is None else Factored(self.value)

    def expression(self) -> Expr:
        if not self.loops:
            return self.value if self.condition is None else where(self.condition, self.value)
        return Reduce(self.value.dtype, "sum", self.loops, self.value, self.condition)


def placed(tensor: Tensor, terms: Sequence[Term], first: Sequence[Tensor]) -> Tensor:
    """The adjoint of `tensor`: the sum of `first`, of its shape, and of the terms.

    What reads a tensor of a size that is not known yet is scattered, which asks for no bounds.
    """
    name, dtype = f"d_{tensor.name}", adjoint_dtype(tensor.dtype)
    axes = data_axes(tensor.shape)
    at = tuple([axis.var for axis in axes])
    parts: list[Expr] = [Read(each.dtype, each, at) for each in first]
    sums: list[Tensor] = []
    scattered: list[Term] = []
    known = all([isinstance(extent, int) for extent in tensor.shape])
    for term in terms:
        if not has_steps(term):
            continue
        points = steps(term)
        if points is None or not known:
            scattered.append(term)
            continue
        found, inverse = gathered(term, axes)
        if found.is_empty:
            continue
        if math.prod(map(int_of, tensor.shape)) * inverse.iterations > _MAX_GATHER_RATIO * points:
            scattered.append(term)
        elif found.loops:
            sums.append(_stored(f"{name}{len(sums) or ''}", tensor, dtype, found, at))
            parts.append(found.factored().times(Read(dtype, sums[-1], at)))
        else:
            parts.append(found.expression())
    if len(parts) == 1 and isinstance(parts[0], Read) and len(sums) + len(first) == 1:
        made = (*first, *sums)[0]
    else:
        made = Tensor(name, tensor.shape, dtype, Compute(axes, total(parts, dtype)))
    for term in scattered:
        made = scatter(name, made, term)
    return made


def _stored(name: str, tensor: Tensor, dtype: DType, found: Gathered, at: Sequence[Var]) -> Tensor:
    """The sum that a term gathered `at` a position is, without what its elements have in common."""
    axes = data_axes(tensor.shape)
    moved = {var: axis.var for var, axis in zip(at, axes, strict=True)}
    value = substitute(found.factored().element, moved)
    condition = None if found.condition is None else substitute(found.condition, moved)
    return Tensor(
        name, tensor.shape, dtype, Compute(axes, Gathered(found.loops, condition, value).expression())
    )


def total(parts: Sequence[Expr], dtype: DType) -> Expr:
    found: Expr | None = None
    for part in parts:
        found = part if found is None else add(found, part)
    return literal(0.0, dtype) if found is None else found


def gathered(term: Term, axes: Sequence[IterVar]) -> tuple[Gathered, Inverse]:
    """The term at the position of `axes`, and how its domain follows from it.

    Raises LanguageError for a domain without bounds.
    """
    known = counted(term.domain)
    if known is None:
        raise LanguageError(
            f"{term.tensor.name} is read in a loop whose extent has no bound, and has no derivative"
        )
    domain, inside = known
    positions = [(axis.var, int_of(axis.extent)) for axis in axes]
    equalities, rest = _equalities(term.condition)
    found = invert(term.indices, positions, domain, equalities)
    term = _by_position(replace(term, condition=rest), positions)
    if found.loops and found.iterations <= _MAX_GATHER_STEPS and _divides(found, positions):
        each = [_at(term, inside, step) for step in found.steps(dict(positions))]
        parts = [made.expression() for made in each if not made.is_empty]
        return Gathered((), None, total(parts, term.value.dtype)), found
    made = _at(term, inside, found)
    return Gathered(*cut((made.loops, made.condition, made.value), dict(positions))), found


def _equalities(condition: Expr | None) -> tuple[list[Compare], Expr | None]:
    """The equalities of indices among the conditions, and the others."""
    found: list[Compare] = []
    kept: list[Expr] = []
    for each in () if condition is None else conjuncts(condition):
        if isinstance(each, Compare) and each.op == "eq" and each.a.dtype is INDEX and not tensors_read(each):
            found.append(each)
        else:
            kept.append(each)
    return found, both(*kept)


def _by_position(term: Term, positions: Sequence[tuple[Var, int]]) -> Term:
    """The term with the position in place of the indices that are read, which needs no conditions to be inside."""
    own = [(index, var) for index, (var, _) in zip(term.indices, positions, strict=True) if index.children()]

    def visit(node: Expr) -> Expr | None:
        if node.dtype is not INDEX or not node.children():
            return None
        return next((var for index, var in own if structural_equal(index, node)), None)

    kept: list[Expr] = []
    with analysis(dict(positions), ()) as analyzer:
        for condition in () if term.condition is None else conjuncts(term.condition):
            moved = rewrite(condition, visit)
            decided = isinstance(moved, Compare) and moved.a.dtype is INDEX and analyzer.prove(moved)
            if not decided:
                kept.append(moved)
    return replace(term, condition=both(*kept), value=rewrite(term.value, visit))


def _at(term: Term, inside: Expr | None, found: Inverse) -> Gathered:
    condition = both(inside, term.condition)
    if condition is not None:
        condition = substitute(condition, found.values)
    return Gathered(found.loops, both(found.condition, condition), substitute(term.value, found.values))


def _divides(found: Inverse, positions: Sequence[tuple[Var, int]]) -> bool:
    """Whether quotients of the position on a line, beside a constant, tell what is read: vectors take every n-th."""
    if not positions:
        return False
    line, _ = positions[-1]
    nodes = [node for value in found.values.values() for node in post_order(value)]
    return any([isinstance(n, Binary) and n.op == "floormod" and is_shifted(n.a, line) for n in nodes])


def counted(domain: Sequence[IterVar]) -> tuple[Mapping[Var, int], Expr | None] | None:
    """The extents of a domain as numbers, and the condition under which its points are in it.

    An extent that is no number counts as the greatest that it can be; None where that is not known.
    """
    extents: dict[Var, int] = {}
    inside: Expr | None = None
    for axis in domain:
        if isinstance(axis.extent, int):
            extents[axis.var] = axis.extent
            continue
        with analysis({var: extent for var, extent in extents.items() if extent}, ()) as analyzer:
            greatest = analyzer.interval(axis.extent).hi
        if greatest is None or greatest > _MAX_STEPS:
            return None
        extents[axis.var] = max(greatest, 0)
        inside = both(inside, lt(axis.var, axis.extent))
    return extents, inside


def int_of(extent: int | Expr) -> int:
    """A dim that is known. Raises LanguageError for one that is not."""
    if not isinstance(extent, int):
        raise LanguageError(f"the dim {extent} is not known, so that no derivative can be made")
    return extent


def steps(term: Term) -> int | None:
    """The points of a term's domain, at most; None where that is not known."""
    known = counted(term.domain)
    return None if known is None else math.prod(known[0].values())


def has_steps(term: Term) -> bool:
    """Whether there are any."""
    return steps(term) != 0


def scatter(name: str, base: Tensor, term: Term) -> Tensor:
    """`base` with the term added, one point of the domain after the other."""
    term = _summed(name, base, term)
    fresh: list[IterVar] = []
    values: dict[Var, Expr] = {}
    for axis in term.domain:
        extent = substitute(axis.extent, values) if isinstance(axis.extent, Expr) else axis.extent
        fresh.append(IterVar(Var(INDEX, axis.var.name), extent))
        values[axis.var] = fresh[-1].var
    indices = tuple([substitute(index, values) for index in term.indices])
    body: tuple[Statement, ...] = (Put(indices, "add", substitute(term.value, values)),)
    if term.condition is not None:
        body = (Guard(substitute(term.condition, values), body),)
    for axis in reversed(fresh):
        body = (Loop(axis, body),)
    return updated(name, base, body)


def _summed(name: str, base: Tensor, term: Term) -> Term:
    """The term summed over what does not tell where it is added: a tensor of its own, whose elements are added."""
    tells = (*term.indices, *(() if term.condition is None else (term.condition,)))
    needed = {var for each in tells for var in free_vars(each)}
    outer = tuple([axis for axis in term.domain if axis.var in needed])
    inner = tuple([axis for axis in term.domain if axis.var not in needed])
    if not inner or not all([isinstance(axis.extent, int) for axis in term.domain]):
        return term
    axes = data_axes(tuple([axis.extent for axis in outer]))
    loops = tuple([IterVar(Var(INDEX, axis.var.name), axis.extent, "reduce") for axis in inner])
    names: dict[Var, Expr] = {
        old.var: new.var for old, new in zip((*outer, *inner), (*axes, *loops), strict=True)
    }
    condition = None if term.condition is None else substitute(term.condition, names)
    body = Reduce(base.dtype, "sum", loops, substitute(term.value, names), condition)
    made = Tensor(f"{name}_part", tuple([axis.extent for axis in axes]), base.dtype, Compute(axes, body))
    return replace(term, domain=outer, value=Read(made.dtype, made, tuple([axis.var for axis in outer])))


def updated(name: str, base: Tensor, body: tuple[Statement, ...]) -> Tensor:
    """`base` after the statements."""
    reads: dict[Tensor, None] = {}
    for each in expressions(body):
        reads.update(dict.fromkeys(tensors_read(each)))
    return Tensor(name, base.shape, base.dtype, Update(base, body, tuple(reads)))
