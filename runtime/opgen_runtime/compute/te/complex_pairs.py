"""Both parts of a complex expression as one expression over an axis of parts.

(z[i, 0], z[i, 1])  -->  z[i, part]

sum(a[i, k] * b[k, j] for k in range(n)), of complex numbers
-->
sum(a[i, k, q] * b_rotated[k, q, j, part] for k in range(n) for q in range(2)), with (b, 1j * b) along q
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ...base.arith import (
    Binary,
    Const,
    Expr,
    Select,
    Var,
    eq,
    free_vars,
    identical,
    is_size,
    mul,
    negate,
    select,
    substitute,
)
from ...base.vocabulary import INDEX
from .tensor import Compute, IterVar, Read, Reduce, Tensor

Pair = tuple[Expr, Expr]
PARTS: Final = 2


def part_axis(kind: str = "data") -> IterVar:
    """The axis of the real and the imaginary part."""
    return IterVar(Var(INDEX, "part"), PARTS, kind)


def joined(parts: Pair, place: Var) -> Expr:
    """The part at `place`: one expression where both differ in the place that they read alone."""
    done: dict[tuple[int, int], Expr] = {}

    def both(a: Expr, b: Expr) -> Expr:
        key = (id(a), id(b))
        if key not in done:
            done[key] = _join(a, b)
        return done[key]

    def _join(a: Expr, b: Expr) -> Expr:
        if a is b:
            return a
        if isinstance(a, Read) and isinstance(b, Read) and _reads_parts(a, b):
            return Read(a.dtype, a.tensor, (*a.indices[:-1], place))
        if isinstance(a, Select) and isinstance(b, Select) and a.condition is b.condition:
            return select(a.condition, both(a.then, b.then), both(a.otherwise, b.otherwise))
        if isinstance(a, Reduce) and isinstance(b, Reduce) and _differ_in_value(a, b):
            return replace(a, value=both(a.value, b.value))
        return select(eq(place, 0), a, b)

    return both(*parts)


def _differ_in_value(a: Reduce, b: Reduce) -> bool:
    """Whether these reduce other values over the same axes."""
    return (
        a.combiner == b.combiner
        and identical(a.axes, b.axes)
        and identical(a.children()[1:], b.children()[1:])
    )


def _reads_parts(a: Read, b: Read) -> bool:
    """Whether these are the real and the imaginary part of one element."""
    if a.tensor is not b.tensor or not a.indices or not identical(a.indices[:-1], b.indices[:-1]):
        return False
    return [end.value for end in (a.indices[-1], b.indices[-1]) if isinstance(end, Const)] == [0, 1]


def contraction(name: str, axes: Sequence[IterVar], parts: Pair, place: Var) -> Expr | None:
    """The part at `place` of a sum of complex products over `axes`, as a sum of real ones; None for any other pair.

    One operand is stored beside its product with 1j, so that what is a matrix product of complex numbers is one of real
    ones, of no more multiplications.  Where no element of the operand would serve twice, it is None too.
    """
    real, imag = parts
    if not isinstance(real, Reduce) or not isinstance(imag, Reduce) or not _differ_in_value(real, imag):
        return None
    factors = _factors(real.value, imag.value)
    if real.combiner != "sum" or real.condition is not None or factors is None:
        return None
    own = {axis.var: axis for axis in (*axes, *real.axes)}
    used = [[own[var] for var in free_vars(first) if var in own] for first, _ in factors]
    if not all(isinstance(axis.extent, int) or is_size(axis.extent) for axis in own.values()):
        return None
    kept, stored = (0, 1) if _size(used[1]) <= _size(used[0]) else (1, 0)
    outer = [axis for axis in used[stored] if axis in used[kept] and axis not in real.axes]
    reduced = [axis for axis in used[stored] if axis in real.axes]
    inner = [axis for axis in used[stored] if axis not in (*outer, *reduced)]
    if all(axis in used[stored] for axis in used[kept]):
        return None
    which = part_axis("reduce")
    rotated = _rotated(f"{name}_rotated", factors[stored], (*outer, *reduced), inner)
    at = [axis.var for axis in (*outer, *reduced)], [axis.var for axis in inner]
    read = Read(rotated.dtype, rotated, (*at[0], which.var, *at[1], place))
    return replace(real, axes=(*real.axes, which), value=mul(joined(factors[kept], which.var), read))


def _factors(real: Expr, imag: Expr) -> tuple[Pair, Pair] | None:
    """The two complex numbers of which these are the parts of the product."""
    if not isinstance(real, Binary) or not isinstance(imag, Binary) or (real.op, imag.op) != ("sub", "add"):
        return None
    products = (real.a, real.b, imag.a, imag.b)
    if not all(isinstance(each, Binary) and each.op == "mul" for each in products):
        return None
    (a, c), (b, d), *others = (each.children() for each in products)
    return ((a, b), (c, d)) if identical((*others[0], *others[1]), (a, d, b, c)) else None


def _size(axes: Sequence[IterVar]) -> int:
    """The elements of a tensor over these axes; an extent that is not known counts as 1."""
    return math.prod([axis.extent for axis in axes if isinstance(axis.extent, int)])


def _rotated(name: str, pair: Pair, outer: Sequence[IterVar], inner: Sequence[IterVar]) -> Tensor:
    """The tensor [*outer, 2, *inner, 2] of a number and, at 1 of the axis between, its product with 1j."""
    which, place = part_axis(), part_axis()
    fresh = [IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in (*outer, *inner)]
    names = {old.var: new.var for old, new in zip((*outer, *inner), fresh, strict=True)}
    real, imag = (substitute(each, names) for each in pair)
    times_j = select(eq(place.var, 0), negate(imag), real)
    body = select(eq(which.var, 0), joined((real, imag), place.var), times_j)
    axes = (*fresh[: len(outer)], which, *fresh[len(outer) :], place)
    return Tensor(name, tuple([axis.extent for axis in axes]), body.dtype, Compute(axes, body))
