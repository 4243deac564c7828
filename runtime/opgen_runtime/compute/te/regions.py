"""Which elements of its operands a part of a result is computed from.

    out[i] = x[i - 1] + x[i + 1]     elements 8 to 15 of out     -->     elements 7 to 16 of x

A region is a span for each axis: the first element, and the one behind the last.  It may be larger than what is read,
never smaller.  What is needed as a whole, and why, is said beside it: steps of a scan, positions that are elements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias

from ...base.arith import Analyzer, Expr, Var, free_vars, holds, post_order
from ...base.vocabulary import dataclass
from .position_tables import is_of_tables, positions
from .scan_axes import axis_groups, state_regions
from .tensor import (
    Compute,
    Extern,
    IterVar,
    Placeholder,
    Read,
    Reduce,
    Scan,
    Sort,
    State,
    Tensor,
    Update,
    tensors_read,
)

Span: TypeAlias = tuple[int, int]
Region: TypeAlias = tuple[Span, ...]


class Whole(Enum):
    """Why all of an axis is needed, for any part of the result."""

    DATA = "its positions are elements of another tensor"
    SCAN = "its elements are computed one after the other"
    SORT = "its elements are sorted"
    UPDATE = "elements are written at positions that are known when it runs"
    FUNCTION = "it is an operand or a result of a hand-written function"


@dataclass(frozen=True, slots=True)
class Need:
    """A region of a tensor that is needed, and why all of an axis is, by axis."""

    region: Region
    whole: Mapping[int, Whole]


_NOTHING: Final[Mapping[int, Whole]] = {}


def extents_of(tensor: Tensor) -> tuple[int, ...]:
    """The extents of a tensor of static shape.  Raises TypeError for a symbolic dim."""
    return tuple([_static(dim) for dim in tensor.shape])


def whole_of(tensor: Tensor) -> Region:
    """The region that is all of the tensor."""
    return tuple([(0, extent) for extent in extents_of(tensor)])


def volume(region: Region) -> int:
    """How many elements a region has."""
    count = 1
    for first, behind in region:
        count *= behind - first
    return count


def needed(
    order: Sequence[Tensor],
    wanted: Mapping[Tensor, Region],
    given: Collection[Tensor] = (),
    steps: Region | None = None,
    carried: Scan | None = None,
) -> dict[Tensor, Need]:
    """The region of every tensor that regions of others are computed from, of those too.

    `order`: all tensors, producers first.  `given`: tensors that are at hand, whose operands are not asked for.
    `steps`: which elements of its reduce axes the one tensor that is `wanted` takes, all by default.
    `carried`: the scan that these are some steps of, so that nothing is needed whole along the axis of its steps.
    """
    found: dict[Tensor, Need] = {}
    for tensor, region in wanted.items():
        _join(found, tensor, Need(region, _NOTHING))
    for tensor in reversed(order):
        need = found.get(tensor)
        if need is None or isinstance(tensor.op, Placeholder) or (tensor in given and tensor not in wanted):
            continue
        whole = {**need.whole, **_without_steps(tensor, unsplit_axes(tensor), carried)}
        made = Need(computed_region(tensor, need.region), whole)
        _join(found, tensor, made)
        for operand, part in _operands(tensor, made, steps if tensor in wanted else None, carried):
            _join(found, operand, part)
    return found


def unsplit_axes(tensor: Tensor) -> Mapping[int, Whole]:
    """The axes of a tensor of which no part is computed alone, and why."""
    op = tensor.op
    if isinstance(op, Scan):
        return {axis: Whole.SCAN for axis, group in enumerate(axis_groups(op)[tensor]) if group is None}
    if isinstance(op, Sort):
        return {op.axis: Whole.SORT}
    if isinstance(op, Extern | Update):
        why = Whole.FUNCTION if isinstance(op, Extern) else Whole.UPDATE
        return dict.fromkeys(range(tensor.ndim), why)
    return _NOTHING


def _without_steps(tensor: Tensor, whole: Mapping[int, Whole], carried: Scan | None) -> Mapping[int, Whole]:
    if carried is None or tensor.op is not carried:
        return whole
    (axis,) = {state.scan_axis for state in carried.states if state.tensor is tensor}
    return {k: why for k, why in whole.items() if k != axis}


def computed_region(tensor: Tensor, region: Region) -> Region:
    """The region that is computed where `region` is needed: whole axes where no part is computed alone."""
    unsplit = unsplit_axes(tensor)
    if not unsplit:
        return region
    return tuple(
        [
            (0, extent) if k in unsplit else span
            for k, (span, extent) in enumerate(zip(region, extents_of(tensor), strict=True))
        ]
    )


def bound_axes(
    expr: Expr, axes: Iterable[IterVar], spans: Iterable[Span], steps: Region | None = None
) -> Analyzer:
    """What is known of an expression's axes where they run over spans; `steps`: of a reduction that is its root."""
    known = Analyzer()
    for axis, (first, behind) in zip(axes, spans, strict=True):
        known.bind(axis.var, first, max(behind - first, 1))
    for node in post_order(expr):
        if isinstance(node, Reduce):
            for k, axis in enumerate(node.axes):
                if steps is not None and node is expr:
                    known.bind(axis.var, steps[k][0], max(steps[k][1] - steps[k][0], 1))
                else:
                    known.bind(
                        axis.var, 0, axis.extent if isinstance(axis.extent, Expr) else max(axis.extent, 1)
                    )
    return known


def _operands(
    tensor: Tensor, need: Need, steps: Region | None, carried: Scan | None
) -> Iterable[tuple[Tensor, Need]]:
    """What is read for a part of a tensor that is computed alone."""
    op = tensor.op
    if isinstance(op, Compute):
        yield from _reads(op.body, op.axes, need, steps)
    elif isinstance(op, Scan):
        for state, part in _state_needs(tensor, op, need, carried):
            assert state.body is not None
            for read, more in _reads(state.body, state.axes, part):
                if read.op is not op:
                    yield read, more
        if isinstance(op.extent, Expr):
            for read in tensors_read(op.extent):
                yield read, _all_of(read, Whole.DATA)
    elif isinstance(op, Sort):
        length = extents_of(op.source)[op.axis]
        region = (*need.region[: op.axis], (0, length), *need.region[op.axis + 1 :])
        yield op.source, Need(region, need.whole)
    else:
        for operand in op.inputs():
            yield operand, _all_of(operand, Whole.FUNCTION if isinstance(op, Extern) else Whole.UPDATE)


def _all_of(tensor: Tensor, why: Whole) -> Need:
    return Need(whole_of(tensor), dict.fromkeys(range(tensor.ndim), why))


def _state_needs(
    tensor: Tensor, scan: Scan, need: Need, carried: Scan | None
) -> Iterable[tuple[State, Need]]:
    """What is needed of each state where a part of one is: the same at axes of the same group, else all."""
    groups = axis_groups(scan)
    asked = dict(zip(groups[tensor], range(tensor.ndim), strict=True))
    regions = state_regions(scan, {tensor: need.region})
    for state in scan.states:
        assert state.tensor is not None
        whole: dict[int, Whole] = {}
        for k, group in enumerate(groups[state.tensor]):
            if group is None or group not in asked:
                whole[k] = Whole.SCAN
            elif asked[group] in need.whole:
                whole[k] = need.whole[asked[group]]
        yield state, Need(regions[state.tensor], _without_steps(state.tensor, whole, carried))


def _reads(
    body: Expr, axes: Sequence[IterVar], need: Need, steps: Region | None = None
) -> Iterable[tuple[Tensor, Need]]:
    """The parts that a body reads; what is read at an axis that is needed whole is needed whole, too."""
    known = bound_axes(body, axes, need.region, steps)
    ranges = _ranges(body, axes, need.region, steps)
    reasons = {axes[k].var: why for k, why in need.whole.items()}
    for node in post_order(body):
        if not isinstance(node, Read):
            continue
        spans: list[Span] = []
        whole: dict[int, Whole] = {}
        for k, (index, extent) in enumerate(zip(node.indices, extents_of(node.tensor), strict=True)):
            if holds(index, Read):
                found = positions(index, ranges) if is_of_tables(index) else None
                if found is None:
                    whole[k] = Whole.DATA
                    spans.append((0, extent))
                    continue
                spans.append((min(max(found[0], 0), max(extent - 1, 0)), min(max(found[1], 1), extent)))
            else:
                spans.append(_inside(known, index, extent))
            if reasons:
                whole.update([(k, reasons[var]) for var in free_vars(index) if var in reasons])
        yield node.tensor, Need(tuple(spans), whole)


def _ranges(body: Expr, axes: Sequence[IterVar], region: Region, steps: Region | None) -> dict[Var, Span]:
    """The spans of the axes of a body and of its reductions, those of constant extents."""
    found = {axis.var: span for axis, span in zip(axes, region, strict=True)}
    for node in post_order(body):
        for k, axis in enumerate(node.axes if isinstance(node, Reduce) else ()):
            if isinstance(axis.extent, int):
                found[axis.var] = steps[k] if steps is not None and node is body else (0, axis.extent)
    return found


def _inside(known: Analyzer, index: Expr, extent: int) -> Span:
    """The values of an index that are positions: what lies outside is read by no one, for a condition stands there."""
    values = known.interval(index)
    first = 0 if values.lo is None else min(max(values.lo, 0), max(extent - 1, 0))
    behind = extent if values.hi is None else min(values.hi + 1, extent)
    return first, min(max(behind, first + 1), extent)


def _join(found: dict[Tensor, Need], tensor: Tensor, more: Need) -> None:
    known = found.get(tensor)
    if known is None:
        found[tensor] = more
        return
    spans = [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(known.region, more.region, strict=True)]
    found[tensor] = Need(tuple(spans), {**known.whole, **more.whole})


def _static(dim: int | Expr) -> int:
    if not isinstance(dim, int):
        raise TypeError(f"a region needs a static extent, found {dim}")
    return dim
