"""Sums of products over windows: the products of each position first, then the windows.

    C[o, y] = sum((X[c, y - r] if 0 <= y - r < n else 0) * W[c, o, r] for c, r if p(y, r))
-->
    V[o, r, i] = sum(X[c, i] * W[c, o, r] for c); Z[o, r] = sum(0 * W[c, o, r] for c)
    C[o, y] = sum(V[o, r, y - r] if 0 <= y - r < n else Z[o, r] for r if p(y, r))

Z is what steps outside of X add: no 0 where a weight is infinite or no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...base.arith import Binary, Const, Expr, Select, Var, const, free_vars, post_order, select, substitute
from ...base.errors import ScheduleError
from ...base.vocabulary import INDEX, dataclass
from ...compute.te.access import why_not_inside
from ...compute.te.tensor import Compute, IterVar, Read, Reduce, Tensor
from .congruence import simplified
from .stage import Stage


@dataclass(frozen=True, slots=True)
class Windows:
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


def windows_of(stage: Stage) -> Windows | str:
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
            found = _windows(stage, body, image, tuple(inside), filters)
            if found is not None:
                return found
    return "it has no windows of a tensor, with what is around it, and filters"


def _windows(
    stage: Stage, body: Reduce, image: Read, inside: tuple[Expr, ...], filters: Read
) -> Windows | None:
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
    return Windows(body, image, inside, filters, summed, taps, kept, moving)


def _vars(parts: Iterable[Expr]) -> set[Var]:
    return {var for part in parts for var in free_vars(part)}


def scattered(stage: Stage) -> tuple[Tensor, Tensor, Expr]:
    """The products of each position, what steps outside of it add, and the stage's new body, which reads both."""
    found = windows_of(stage)
    if isinstance(found, str):
        raise ScheduleError(f"scatter on stage {stage.name}: {found}")
    image, filters = found.image, found.filters
    outer = (*found.kept, *found.taps)
    own, values = _renamed(outer)
    places = tuple([IterVar(Var(INDEX, f"i{n}"), image.tensor.shape[n]) for n in found.moving])
    indices = [substitute(index, values) for index in image.indices]
    for n, place in zip(found.moving, places, strict=True):
        indices[n] = place.var
    made = _sum(
        f"{stage.name}_products",
        (*own, *places),
        found,
        Read(image.dtype, image.tensor, tuple(indices)),
        values,
    )
    around = tuple([axis for axis in outer if axis.var in free_vars(filters)])
    theirs, values = _renamed(around)
    outside = _sum(f"{stage.name}_outside", theirs, found, const(0, image.dtype), values)
    positions = [image.indices[n] for n in found.moving]
    value: Expr = Read(found.body.dtype, made, (*[axis.var for axis in outer], *positions))
    beyond = Read(found.body.dtype, outside, tuple([axis.var for axis in around]))
    for condition in reversed(found.inside):
        value = select(condition, value, beyond)
    return made, outside, Reduce(found.body.dtype, "sum", found.taps, value, found.body.condition)


def _renamed(axes: Sequence[IterVar]) -> tuple[tuple[IterVar, ...], dict[Var, Expr]]:
    made = tuple([IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in axes])
    return made, {old.var: new.var for old, new in zip(axes, made, strict=True)}


def _sum(
    name: str, axes: tuple[IterVar, ...], found: Windows, factor: Expr, values: dict[Var, Expr]
) -> Tensor:
    """The sum of a factor and the filters, over all that is no window."""
    body = Reduce(found.body.dtype, "sum", found.summed, factor * substitute(found.filters, values))
    return Tensor(name, tuple([axis.extent for axis in axes]), body.dtype, Compute(axes, body))
