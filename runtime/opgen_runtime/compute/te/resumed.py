"""Some steps of a scan as a scan of their own, which begins with what the steps before them gave.

s[t] = s[t - 1] + x[t],  steps 10 to 19      -->      p[t] = before[t] if t < 1 else p[t - 1] + x[t + 9],
                                                       of which steps 1 to 10 are those
"""

from __future__ import annotations

from dataclasses import replace

from ...base.arith import Analyzer, Cast, Expr, Var, add, const, ge, lt, post_order, rewrite, select, sub
from ...base.vocabulary import INDEX, dataclass
from .regions import Span, extents_of
from .tensor import Compute, IterVar, Placeholder, Read, Scan, State, Tensor


@dataclass(frozen=True, slots=True)
class Resumed:
    """`part`: the steps; `before`: a placeholder of the elements of the tensor at `rows`, None where it needs none."""

    part: Tensor
    before: Tensor | None
    rows: Span


def lookback(tensor: Tensor) -> int | None:
    """How many steps before its own a scan reads; None for other tensors, and where that differs from step to step."""
    op = tensor.op
    if not isinstance(op, Scan) or len(op.states) != 1 or not isinstance(op.extent, int):
        return None
    (state,) = op.states
    assert state.body is not None
    time = state.axes[state.scan_axis].var
    known, most = Analyzer(), 0
    for node in post_order(state.body):
        if not isinstance(node, Read) or node.tensor is not tensor:
            continue
        for k, (index, axis) in enumerate(zip(node.indices, state.axes, strict=True)):
            while isinstance(index, Cast):
                index = index.a
            if k != state.scan_axis:
                if index is not axis.var:
                    return None
                continue
            step = known.interval(sub(index, time))
            if step.lo is None or not step.is_point:
                return None
            most = max(most, -step.lo * op.direction)
    return most


def resumed(tensor: Tensor, span: Span) -> Resumed:
    """The steps of a span, of a tensor that has a `lookback`."""
    op, most = tensor.op, lookback(tensor)
    assert isinstance(op, Scan)
    assert most is not None
    (state,) = op.states
    axis, (first, behind) = state.scan_axis, span
    extent = extents_of(tensor)[axis]
    rows = (max(first - most, 0), first) if op.direction > 0 else (behind, min(behind + most, extent))
    count = rows[1] - rows[0]
    start = min(first, rows[0]) if count else first  # the step that is the first of the new scan
    length = behind - first + count
    before = None
    if count:
        before = replace(
            tensor, name=f"{tensor.name}_before", shape=_with(tensor.shape, axis, count), op=Placeholder()
        )
    made = _scan(tensor, op, start, length, rows, before)
    if not count:
        return Resumed(made, None, rows)
    shape = _with(tensor.shape, axis, behind - first)
    axes = tuple([IterVar(Var(INDEX, old.var.name), n) for old, n in zip(state.axes, shape, strict=True)])
    places = [
        add(a.var, const(first - start, INDEX)) if k == axis and first > start else a.var
        for k, a in enumerate(axes)
    ]
    part = replace(tensor, shape=shape, op=Compute(axes, Read(tensor.dtype, made, tuple(places))))
    return Resumed(part, before, rows)


def _scan(tensor: Tensor, op: Scan, start: int, length: int, rows: Span, before: Tensor | None) -> Tensor:
    """The scan over `length` steps from `start` on, of which those of `rows` are known."""
    (state,) = op.states
    axis = state.scan_axis
    shape = _with(tensor.shape, axis, length)
    axes = tuple([IterVar(Var(INDEX, old.var.name), n) for old, n in zip(state.axes, shape, strict=True)])
    fresh = State(axes, axis)
    made = fresh.tensor = replace(tensor, shape=shape, op=Scan((fresh,), length, op.direction))
    time = axes[axis].var
    places: dict[Var, Expr] = {old.var: new.var for old, new in zip(state.axes, axes, strict=True)}
    places[state.axes[axis].var] = add(time, const(start, INDEX)) if start else time

    def swapped(node: Expr) -> Expr | None:
        if isinstance(node, Var):
            return places.get(node)
        if isinstance(node, Read) and node.tensor is tensor:
            index = node.indices[axis]
            moved = sub(index, const(start, index.dtype)) if start else index
            return Read(
                node.dtype, made, tuple([moved if k == axis else i for k, i in enumerate(node.indices)])
            )
        return None

    assert state.body is not None
    body = rewrite(state.body, swapped)
    if before is not None:
        offset = const(rows[0] - start, INDEX)
        is_known = lt(time, const(rows[1] - start, INDEX)) if op.direction > 0 else ge(time, offset)
        place = time if op.direction > 0 else sub(time, offset)
        places_before = tuple([place if k == axis else each.var for k, each in enumerate(axes)])
        body = select(is_known, Read(tensor.dtype, before, places_before), body)
    fresh.body = body
    return made


def _with(shape: tuple[int | Expr, ...], axis: int, extent: int) -> tuple[int | Expr, ...]:
    return (*shape[:axis], extent, *shape[axis + 1 :])
