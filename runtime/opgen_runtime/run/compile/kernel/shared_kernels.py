"""Segments of symbolic dims that differ in numbers alone share a kernel.

conv2d([n, 88, h, w], [88, 1, 5, 5], groups=88)      conv2d([n, c, h, w], [c, 1, 5, 5], groups=c)
conv2d([m, 40, y, x], [40, 1, 5, 5], groups=40)      is compiled for both

A number becomes a dim where that costs nothing: it counts independent parts of all results and of all operands of
symbolic dims, outside of the last two axes, in which vectors and tiles lie.  Hints are those of the largest segment.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import repeat
from typing import Final

from ....base import Target
from ....base.arith import AnyDim, Expr, Var, free_vars, hinted, post_order
from ....base.arith.expr import Dim
from ....base.errors import OpgenError
from ....base.vocabulary import INDEX, dataclass
from ....compute import te
from ....compute.te.tensor import Compute, Placeholder, Reduce
from ....ir import Function, structural_digest
from ....ir import post_order as nodes_of
from ....lower.library.segment import flat_types, segment_of
from ....operator import TensorType
from .dims import dims_in, sizes_of
from .multiversioning import broadcast_guards
from .retyping import retyped
from .shape_preconditions import shape_preconditions

_INNER_AXES: Final = 2  # the last ones of a result, whose numbers stay
_LEAST: Final = 2  # of a number that becomes a dim: a 1 is broadcast


@dataclass(frozen=True, slots=True)
class SharedKernels:
    """What is compiled for segments: `functions`, and which of them serves each segment."""

    functions: tuple[Function, ...]
    numbers: tuple[int, ...]


def share_kernels(
    segments: Sequence[Function], constant: Sequence[Collection[int]], target: Target
) -> SharedKernels:
    """The functions of which kernels serve segments, whose constants are at the places `constant`."""
    groups: dict[object, list[int]] = {}
    for number, (segment, places) in enumerate(zip(segments, constant, strict=True)):
        key: object = number
        if _is_symbolic(segment):
            general = _general(segment, _numbers(segment))
            made = segment if general is None else general.function
            key = structural_digest(made), frozenset(places)
        groups.setdefault(key, []).append(number)
    functions: list[Function] = []
    numbers = [0] * len(segments)
    for group in groups.values():
        for part in _parts(segments, group, constant[group[0]], target):
            for number in part.members:
                numbers[number] = len(functions)
            functions.append(part.function)
    return SharedKernels(tuple(functions), tuple(numbers))


@dataclass(frozen=True, slots=True)
class _Part:
    function: Function
    members: Sequence[int]


@dataclass(frozen=True, slots=True)
class _General:
    """A segment with dims in place of numbers."""

    function: Function
    dims: tuple[Var, ...]


def _parts(
    segments: Sequence[Function], group: Sequence[int], constant: Collection[int], target: Target
) -> list[_Part]:
    """Segments that are equal but for numbers: one kernel; one for each of them where that would sum over a dim."""
    if len(group) == 1:
        return [_Part(segments[group[0]], group)]
    largest = max(group, key=lambda number: _size(segments[number]))
    found = [_numbers(segments[number]) for number in group]
    varying = [
        k for k, each in enumerate(zip(*found, strict=True)) if len({extent for _, extent in each}) > 1
    ]
    if not varying:
        return [_Part(segments[largest], group)]
    own = _numbers(segments[largest])
    general = _general(segments[largest], [own[k] for k in varying])
    if general is not None and not _sums_over(general.dims, general.function, constant, target):
        return [_Part(general.function, group)]
    alike: dict[str, list[int]] = {}
    for number in group:
        alike.setdefault(structural_digest(segments[number]), []).append(number)
    return [_Part(segments[each[0]], each) for each in alike.values()]


def _is_symbolic(segment: Function) -> bool:
    """Whether there are symbolic dims, all of which are known when the kernel is called."""
    nodes = list(nodes_of(segment.body))
    unknown = any([isinstance(dim, AnyDim) for dim in sizes_of([*segment.params, *nodes])])
    return bool(dims_in(segment)) and not unknown


def _size(segment: Function) -> int:
    """How many elements its results have for the hints of its dims."""
    return sum([math.prod(map(hinted, kind.shape)) for kind in _results(segment)])


def _results(segment: Function) -> tuple[TensorType, ...]:
    return flat_types(segment.body.checked_type, "a result")


def _numbers(segment: Function) -> list[tuple[int, int]]:
    """(axis, extent) of the results that may become dims."""
    first, *rest = _results(segment)
    operands = [kind for param in segment.params for kind in flat_types(param.checked_type, param.name_hint)]
    symbolic = [kind for kind in operands if not kind.is_static]
    return [
        (axis, extent)
        for axis, extent in enumerate(first.shape[:-_INNER_AXES])
        if isinstance(extent, int)
        and extent >= _LEAST
        and all([kind.ndim == first.ndim and kind.shape[axis] == extent for kind in [*rest, *symbolic]])
        and all([kind.shape.count(extent) <= 1 for kind in [first, *rest, *operands]])
    ]


def _general(segment: Function, numbers: Sequence[tuple[int, int]]) -> _General | None:
    """The segment with dims in place of numbers of its results; None where its ops are not made of them as they are."""
    made, dims = segment, []
    for axis, extent in numbers:
        dim = Var(INDEX, f"c{axis}", size=True, hint=extent, least=_LEAST)
        found = _with_dim(made, extent, dim)
        if found is None:
            return None
        made = found
        dims.append(dim)
    return _General(made, tuple(dims))


def _with_dim(segment: Function, extent: int, dim: Var) -> Function | None:
    """A dim in place of a number, in types alone or in attrs too; None where that asks more of the other dims."""
    asked = len(shape_preconditions(segment)), len(broadcast_guards(segment))

    def sized(size: Dim) -> Dim:
        return dim if isinstance(size, int) and size == extent else size

    def unchanged(value: object) -> object:
        return value

    def valued(value: object) -> object:
        return dim if type(value) is int and value == extent else value

    for in_attrs in (unchanged, valued):
        try:
            made = retyped(segment, sized, in_attrs)
            alike = map(_is_alike, _dims(segment), _dims(made), repeat(extent), repeat(dim))
            if all(alike) and (len(shape_preconditions(made)), len(broadcast_guards(made))) == asked:
                return made
        except OpgenError:
            continue
    return None


def _dims(segment: Function) -> list[Dim]:
    """Those of its results."""
    return [dim for kind in _results(segment) for dim in kind.shape]


def _is_alike(before: Dim, after: Dim, extent: int, dim: Var) -> bool:
    """Whether a dim of a result is what it was, or the dim where it was the number."""
    if isinstance(before, int):
        return after is dim if before == extent else after == before
    return isinstance(after, Expr) and dim not in free_vars(after)


def _sums_over(dims: Collection[Var], segment: Function, constant: Collection[int], target: Target) -> bool:
    """Whether a stage of a segment sums over some of the dims, or is none whose loops are known."""
    try:
        tensors = te.tensor_order(segment_of(segment, target, constant).outputs)
    except OpgenError:
        return True
    for tensor in tensors:
        if isinstance(tensor.op, Placeholder):
            continue
        if not isinstance(tensor.op, Compute):
            return True
        for node in post_order(tensor.op.body):
            extents = [axis.extent for axis in node.axes] if isinstance(node, Reduce) else []
            if any([set(dims) & set(free_vars(each)) for each in extents if isinstance(each, Expr)]):
                return True
    return False
