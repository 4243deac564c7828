"""Reductions: which elements get what of the adjoint of a result.

sum            each the adjoint
max, min       those that are equal to the result, NaN too, share it equally, or the first one gets it
prod           each the adjoint times the product of the others, from products before and after it
first          the one that was taken, or the default
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....base.arith import (
    Binary,
    Const,
    Expr,
    Var,
    add,
    cast,
    const,
    div,
    eq,
    floordiv,
    floormod,
    free_vars,
    ge,
    logical_or,
    lt,
    mul,
    ne,
    post_order,
    select,
    sub,
    substitute,
)  # fmt: skip
from ....base.errors import LanguageError
from ....base.vocabulary import INDEX, INT32, INT64, dataclass
from ..construct import data_axes
from ..tensor import Compute, IterVar, Read, Reduce, Scan, State, Tensor
from .inverse import both, invert, is_shifted
from .place import counted, int_of
from .products import as_read


@dataclass(frozen=True, slots=True)
class Seed:
    """An expression over a domain, and its adjoint there where `condition` holds."""

    body: Expr
    domain: tuple[IterVar, ...]
    condition: Expr | None
    adjoint: Expr


FLAT: Final = ("sum", "prod", "min", "max", "first")  # the reductions that have a derivative


def seeds_of(tensor: Tensor, adjoint: Expr, first: bool = False) -> list[Seed]:
    """The seeds of a tensor whose body is a reduction; `adjoint` is that of its element at its own axes.

    `first`: of equal extrema the first one gets everything.
    """
    op = tensor.op
    assert isinstance(op, Compute)
    node = op.body
    assert isinstance(node, Reduce)
    domain = (*op.axes, *node.axes)
    if node.combiner == "sum":
        return [Seed(node.value, domain, node.condition, adjoint)]
    if node.combiner in ("max", "min"):
        return [_first(tensor, op, node, adjoint) if first else _shared(tensor, op, node, adjoint)]
    if node.combiner == "prod":
        return [_others(tensor, op, node, adjoint)]
    if node.combiner == "first":
        return _taken(tensor, op, node, adjoint)
    return []


def _at(axes: Sequence[IterVar]) -> tuple[Var, ...]:
    return tuple([axis.var for axis in axes])


def _over(op: Compute, node: Reduce) -> tuple[tuple[IterVar, ...], Reduce]:
    """Axes and reduction with variables of their own."""
    fresh = tuple([IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in op.axes])
    made = substitute(node, {a.var: b.var for a, b in zip(op.axes, fresh, strict=True)})
    assert isinstance(made, Reduce)
    inner = tuple([IterVar(Var(INDEX, axis.var.name), axis.extent, "reduce") for axis in made.axes])
    return fresh, _renamed(made, inner)


def _renamed(node: Reduce, inner: tuple[IterVar, ...]) -> Reduce:
    names = {a.var: b.var for a, b in zip(node.axes, inner, strict=True)}
    axes = tuple(
        [
            IterVar(axis.var, substitute(axis.extent, names), axis.kind)
            if isinstance(axis.extent, Expr)
            else axis
            for axis in inner
        ]
    )
    condition = None if node.condition is None else substitute(node.condition, names)
    return Reduce(node.dtype, node.combiner, axes, substitute(node.value, names), condition, node.default)


def _shared(tensor: Tensor, op: Compute, node: Reduce, adjoint: Expr) -> Seed:
    axes, inner = _over(op, node)
    equal = _is_extreme(inner.value, Read(tensor.dtype, tensor, _at(axes)))
    one = select(equal, const(1.0, node.dtype), const(0.0, node.dtype))
    count = Tensor(
        f"{tensor.name}_ties",
        tensor.shape,
        node.dtype,
        Compute(axes, Reduce(node.dtype, "sum", inner.axes, one, inner.condition)),
    )
    at = _at(op.axes)
    wins = _is_extreme(node.value, Read(tensor.dtype, tensor, at))
    share = div(adjoint, Read(count.dtype, count, at))
    return Seed(node.value, (*op.axes, *node.axes), both(node.condition, wins), share)


def _is_extreme(value: Expr, extreme: Expr) -> Expr:
    """Whether an element is the extremum of its row: NaN always is."""
    return logical_or(eq(value, extreme), ne(value, value))


def _position(tensor: Tensor, op: Compute, node: Reduce, combiner: str) -> Tensor:
    """The row-major position of the element that a result is, -1 where it is none."""
    axes, inner = _over(op, node)
    if combiner == "first":
        where, _ = _flat(inner.axes)
        made = Reduce(INDEX, "first", inner.axes, where, inner.condition, const(-1, INDEX))
    else:
        made = Reduce(INDEX, combiner, inner.axes, inner.value, inner.condition)
    return Tensor(f"{tensor.name}_at", tensor.shape, INT64, Compute(axes, cast(made, INT64)))


def _flat(axes: Sequence[IterVar]) -> tuple[Expr, int]:
    """The row-major position on axes, an extent that depends on data counted as the greatest that it can be."""
    place: Expr = const(0, INDEX)
    count = 1
    known = counted(axes)
    if known is None:
        raise LanguageError("the position of what is taken in a loop without a bound is not known")
    for var, extent in known[0].items():
        place = add(mul(place, extent), var)
        count *= extent
    return place, count


def _first(tensor: Tensor, op: Compute, node: Reduce, adjoint: Expr) -> Seed:
    """Where few windows overlap each element asks whether it was the first; else each window names the element."""
    windows = _windows(op, node)
    if windows is not None and windows <= _FEW_WINDOWS:
        own, _ = _flat(node.axes)
        read = Read(INT32, _winner(tensor, op, node), _at(op.axes))
        return Seed(
            node.value, (*op.axes, *node.axes), both(node.condition, eq(cast(own, INT32), read)), adjoint
        )
    place = cast(Read(INT64, _position(tensor, op, node, f"arg{node.combiner}"), _at(op.axes)), INDEX)
    values: dict[Var, Expr] = {}
    rest: Expr = place
    for axis in reversed(node.axes):
        extent = int_of(axis.extent)
        values[axis.var] = floormod(rest, extent)
        rest = floordiv(rest, extent)
    found = ge(place, 0)
    condition = None if node.condition is None else substitute(node.condition, values)
    return Seed(substitute(node.value, values), op.axes, both(found, condition), adjoint)


_WIDTHS: Final = (2, 3, 4)  # of windows whose results are read in vectors, each of them as often
_FEW_WINDOWS: Final = 8  # read an element, each of which it asks


def lie_apart(op: Compute, node: Reduce) -> bool:
    """Whether every element is read by one window at most, at one place of it, and lines of them run in vectors."""
    return _windows(op, node) == 1


def _windows(op: Compute, node: Reduce) -> int | None:
    """How many windows read an element at most; None where that is not known, or lines do not run in vectors."""
    known = counted((*op.axes, *node.axes))
    if known is None:
        return None
    most = 1
    for read in post_order(node.value):
        if not isinstance(read, Read) or not read.dtype.is_inexact:
            continue
        positions = [(axis.var, int_of(axis.extent)) for axis in data_axes(read.tensor.shape)]
        if not positions:
            return None
        found = invert(read.indices, positions, known[0])
        line = positions[-1][0]
        if any(_is_broken(each, line) for value in found.values.values() for each in post_order(value)):
            return None
        most = max(most, found.iterations)
    return most


def _is_broken(expr: Expr, line: Var) -> bool:
    """Whether it divides a position on a line by what is no width of windows."""
    if not isinstance(expr, Binary) or expr.op not in ("floordiv", "floormod") or line not in free_vars(expr):
        return False
    return not is_shifted(expr.a, line) or not isinstance(expr.b, Const) or expr.b.value not in _WIDTHS


def _winner(tensor: Tensor, op: Compute, node: Reduce) -> Tensor:
    """As `_position`, of the first that is no less than the best: in lanes as narrow as those of what is compared."""
    axes, inner = _over(op, node)
    extreme = tensor
    if tensor.dtype is not node.dtype:
        best_axes, best = _over(op, node)
        extreme = Tensor(f"{tensor.name}_best", tensor.shape, node.dtype, Compute(best_axes, best))
    own, count = _flat(inner.axes)
    wins = _is_extreme(inner.value, Read(node.dtype, extreme, _at(axes)))
    number = select(wins, cast(own, INT32), const(count, INT32))
    first = Reduce(INT32, "min", inner.axes, number, inner.condition)
    return Tensor(f"{tensor.name}_at", tensor.shape, INT32, Compute(axes, first))


def _taken(tensor: Tensor, op: Compute, node: Reduce, adjoint: Expr) -> list[Seed]:
    place = _position(tensor, op, node, "first")
    read = cast(Read(INT64, place, _at(op.axes)), INDEX)
    own, _ = _flat(node.axes)
    taken = Seed(node.value, (*op.axes, *node.axes), both(node.condition, eq(own, read)), adjoint)
    assert node.default is not None
    return [taken, Seed(node.default, op.axes, lt(read, 0), adjoint)]


def _others(tensor: Tensor, op: Compute, node: Reduce, adjoint: Expr) -> Seed:
    """Products of the factors before each one, and of those after it, along the reduced axes as one.

    They lie as the factors do, so that lines of them are computed together.
    """
    axes, inner = _over(op, node)
    extents = [int_of(axis.extent) for axis in inner.axes]
    row = IterVar(Var(INDEX, "k"), math.prod(extents))
    rest: Expr = row.var
    values: dict[Var, Expr] = {}
    for axis, extent in zip(reversed(inner.axes), reversed(extents), strict=True):
        values[axis.var] = floormod(rest, extent) if len(extents) > 1 else rest
        rest = floordiv(rest, extent)
    order = as_read(inner.value, (*axes, *inner.axes))
    every = tuple(dict.fromkeys([row if axis in inner.axes else axis for axis in order]))
    every = every if row in every else (*every, row)  # of a product of nothing but itself
    factor = substitute(inner.value, values)
    if inner.condition is not None:
        factor = select(substitute(inner.condition, values), factor, const(1.0, node.dtype))
    elif not isinstance(factor, Read):
        shape = tuple([axis.extent for axis in every])
        stored = Tensor(f"{tensor.name}_factors", shape, node.dtype, Compute(every, factor))
        factor = Read(node.dtype, stored, _at(every))
    before = _exclusive(f"{tensor.name}_before", factor, every, row, 1)
    after = _exclusive(f"{tensor.name}_after", factor, every, row, -1)
    place: Expr = const(0, INDEX)
    for axis, extent in zip(node.axes, extents, strict=True):
        place = add(mul(place, extent), axis.var)
    names = {new.var: old.var for old, new in zip(op.axes, axes, strict=True)}
    at = tuple([place if axis is row else names[axis.var] for axis in every])
    others = mul(Read(node.dtype, before, at), Read(node.dtype, after, at))
    return Seed(node.value, (*op.axes, *node.axes), node.condition, mul(adjoint, others))


def _exclusive(name: str, factor: Expr, every: Sequence[IterVar], row: IterVar, direction: int) -> Tensor:
    """Products along `row` of the factors before each one (after it, for direction -1), over the axes `every`."""
    shape = tuple([int_of(axis.extent) for axis in every])
    axes = data_axes(shape)
    place = list(every).index(row)
    count = shape[place]
    state = State(axes, place)
    made = Tensor(name, shape, factor.dtype, Scan((state,), count, direction))
    own = axes[place].var
    last = sub(own, 1) if direction > 0 else add(own, 1)
    start = eq(own, 0 if direction > 0 else count - 1)
    at: list[Expr] = [*_at(axes)]
    at[place] = last
    there = substitute(factor, {axis.var: index for axis, index in zip(every, at, strict=True)})
    state.tensor = made
    state.body = select(start, const(1.0, factor.dtype), mul(Read(made.dtype, made, tuple(at)), there))
    return made
