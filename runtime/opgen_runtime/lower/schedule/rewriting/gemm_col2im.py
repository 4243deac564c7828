"""GEMM and col2im: the products of each position first, then sums over the windows.

    C[o, y] = sum((X[c, y - r] if 0 <= y - r < n else 0) * W[c, o, r] for c, r if p(y, r))
-->
    F[c, o r] = W[c, o, r]; V[o r, i] = sum(X[c, i] * F[c, o r] for c); Z[o, r] = sum(0 * W[c, o, r] for c)
    C[o, y] = sum(V[o r, y - r] if 0 <= y - r < n else Z[o, r] for r if p(y, r))

Z is what steps outside of X add: no 0 where a weight is infinite or no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from ....base.arith import (
    Binary,
    Const,
    Expr,
    Select,
    Var,
    const,
    floordiv,
    floormod,
    free_vars,
    post_order,
    select,
    substitute,
)
from ....base.errors import ScheduleError
from ....base.vocabulary import INDEX, dataclass
from ....compute.te.access import why_not_inside
from ....compute.te.tensor import Compute, IterVar, Read, Reduce, Tensor
from ..stages.stage import Stage
from .residues import simplified


@dataclass(frozen=True, slots=True)
class WindowedProducts:
    """A sum over windows: `image` is read where all of `inside` holds, else 0; it is multiplied by `filters`.

    Of the reduce axes, `summed` are those of the products of one position, `taps` those of the windows; `kept` are the
    data axes that the products depend on, `moving` the dims of the image along which windows move.
    """

    body: Reduce
    image: Read
    inside: tuple[Expr, ...]
    filters: Read
    summed: tuple[IterVar, ...]
    taps: tuple[IterVar, ...]
    kept: tuple[IterVar, ...]
    moving: tuple[int, ...]


def windowed_products_of(stage: Stage) -> WindowedProducts | str:
    """How a stage is a sum of products over windows; or why it is none."""
    if not isinstance(stage.body, Reduce) or stage.body.combiner != "sum":
        return "it is no sum"
    axes = (*stage.axes, *stage.body.axes)
    if stage.tensor.dtype.is_storage or not all([isinstance(axis.extent, int) for axis in axes]):
        return "its parts would be rounded, or extents are not constant"
    body = simplified(stage.axes, stage.body)
    if not isinstance(body.value, Binary) or body.value.op != "mul":
        return "its elements are no products"
    for guarded, filters in ((body.value.a, body.value.b), (body.value.b, body.value.a)):
        inside: list[Expr] = []
        image = guarded
        while isinstance(image, Select) and isinstance(image.otherwise, Const) and image.otherwise.value == 0:
            inside.append(image.condition)
            image = image.then
        if inside and isinstance(image, Read) and isinstance(filters, Read):
            found = _windowed_products(stage, body, image, tuple(inside), filters)
            if found is not None:
                return found
    return "it has no windows of a tensor, with what is around it, and filters"


def _windowed_products(
    stage: Stage, body: Reduce, image: Read, inside: tuple[Expr, ...], filters: Read
) -> WindowedProducts | None:
    conditions = inside if body.condition is None else (*inside, body.condition)
    decided = _vars(conditions)
    theirs = _vars((filters,))
    sliding = _vars([index for index in image.indices if not theirs.issuperset(free_vars(index))])
    met = _vars(image.indices) - sliding - decided
    summed = tuple([axis for axis in body.axes if axis.var in met])
    taps = tuple([axis for axis in body.axes if axis not in summed])
    window = {axis.var for axis in taps}
    moving = tuple([n for n, index in enumerate(image.indices) if not window.isdisjoint(free_vars(index))])
    still = [index for n, index in enumerate(image.indices) if n not in moving]
    own = theirs | _vars(still)
    kept = tuple([axis for axis in stage.axes if axis.var in own])
    slid = decided | _vars([image.indices[n] for n in moving])
    if not summed or not moving or not slid.isdisjoint([axis.var for axis in (*summed, *kept)]):
        return None
    if sum([isinstance(node, Read) for node in post_order(body)]) != 2:
        return None
    if not all([isinstance(image.tensor.shape[n], int) for n in moving]):
        return None
    extents = {axis.var: axis.extent for axis in (*stage.axes, *body.axes)}
    for read, dims in ((image, [n for n in range(len(image.indices)) if n not in moving]), (filters, None)):
        for n, (index, extent) in enumerate(zip(read.indices, read.tensor.shape, strict=True)):
            if (dims is None or n in dims) and why_not_inside(
                read.tensor.name, n, index, extent, extents, ()
            ) is not None:
                return None  # it is read under a condition that the products do not have
    return WindowedProducts(body, image, inside, filters, summed, taps, kept, moving)


def _vars(parts: Iterable[Expr]) -> set[Var]:
    return {var for part in parts for var in free_vars(part)}


def gemm_and_col2im(stage: Stage) -> tuple[tuple[Tensor, ...], Expr]:
    """The products of each position, last but one, what they need before, what steps outside of it add, last, and the
    stage's new body, which reads both.

    What tells filters and their steps apart, and moves no image, is one axis of the products: rows of a tile.
    """
    found = windowed_products_of(stage)
    if isinstance(found, str):
        raise ScheduleError(f"gemm_col2im on stage {stage.name}: {found}")
    image, filters = found.image, found.filters
    still = _vars([index for n, index in enumerate(image.indices) if n not in found.moving])
    apart = tuple([axis for axis in found.kept if axis.var in still])
    rows = (*[axis for axis in found.kept if axis.var not in still], *found.taps)
    lines, factor, row, number = _as_rows(stage.name, found, apart, rows)
    own, values = _renamed(apart)
    places = tuple([IterVar(Var(INDEX, f"i{n}"), image.tensor.shape[n]) for n in found.moving])
    indices = [substitute(index, values) for index in image.indices]
    for n, place in zip(found.moving, places, strict=True):
        indices[n] = place.var
    body = Read(image.dtype, image.tensor, tuple(indices)) * substitute(factor, values)
    made = _sum(f"{stage.name}_products", (*own, row, *places), found, body)
    around = tuple([axis for axis in (*found.kept, *found.taps) if axis.var in free_vars(filters)])
    theirs, values = _renamed(around)
    zeros = const(0, image.dtype) * substitute(filters, values)
    outside = _sum(f"{stage.name}_outside", theirs, found, zeros)
    positions = [image.indices[n] for n in found.moving]
    value: Expr = Read(found.body.dtype, made, (*[axis.var for axis in apart], number, *positions))
    beyond = Read(found.body.dtype, outside, tuple([axis.var for axis in around]))
    for condition in reversed(found.inside):
        value = select(condition, value, beyond)
    reduced = Reduce(found.body.dtype, "sum", found.taps, value, found.body.condition)
    return (*lines, made, outside), reduced


def _as_rows(
    name: str, found: WindowedProducts, apart: Sequence[IterVar], rows: Sequence[IterVar]
) -> tuple[tuple[Tensor, ...], Expr, IterVar, Expr]:
    """The filters with the rows as one axis: tensors that are to be made, what reads them, that axis, and its number.

    The number is that of a row by its own axes.
    """
    long = [axis for axis in rows if axis.extent != 1]
    if len(long) <= 1:
        axis = long[0] if long else rows[-1]
        zeros: dict[Var, Expr] = {each.var: const(0, INDEX) for each in rows if each is not axis}
        (row,), values = _renamed((axis,))
        return (), substitute(found.filters, {**zeros, **values}), row, axis.var
    count = prod([_extent(axis) for axis in long])
    row, line = (IterVar(Var(INDEX, "row"), count) for _ in range(2))
    outer = tuple([each for each in (*found.summed, *apart) if each.var in free_vars(found.filters)])
    own, values = _renamed(outer)
    values |= {each.var: const(0, INDEX) for each in rows}
    number: Expr = const(0, INDEX)
    rest: Expr = line.var
    for axis in reversed(long):
        values[axis.var] = floormod(rest, _extent(axis)) if axis is not long[0] else rest
        rest = floordiv(rest, _extent(axis))
    for axis in long:
        number = number * _extent(axis) + axis.var
    read = substitute(found.filters, values)
    axes = (*own, line)
    tensor = Tensor(f"{name}_rows", tuple([axis.extent for axis in axes]), read.dtype, Compute(axes, read))
    return (tensor,), Read(read.dtype, tensor, (*[each.var for each in outer], row.var)), row, number


def _extent(axis: IterVar) -> int:
    assert isinstance(axis.extent, int)
    return axis.extent


def _renamed(axes: Sequence[IterVar]) -> tuple[tuple[IterVar, ...], dict[Var, Expr]]:
    made = tuple([IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in axes])
    return made, {old.var: new.var for old, new in zip(axes, made, strict=True)}


def _sum(name: str, axes: tuple[IterVar, ...], found: WindowedProducts, value: Expr) -> Tensor:
    """The sum of a value over all that is no window."""
    body = Reduce(found.body.dtype, "sum", found.summed, value)
    return Tensor(name, tuple([axis.extent for axis in axes]), body.dtype, Compute(axes, body))
