"""Some steps of a scan as a scan of their own, which begins with what the steps before them gave.

s[t] = s[t - 1] + x[t],  steps 10 to 19      -->      p[t] = before[t] if t < 1 else p[t - 1] + x[t + 9],
                                                       of which steps 1 to 10 are those
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...base.arith import Analyzer, Cast, Expr, Var, add, const, ge, lt, post_order, rewrite, select, sub
from ...base.vocabulary import INDEX, dataclass
from .regions import Span
from .tensor import Compute, IterVar, Placeholder, Read, Scan, State, Tensor


@dataclass(frozen=True, slots=True)
class Lookback:
    """`rows`: how many steps before its own a step of a scan reads; `states`: of which states."""

    rows: int
    states: frozenset[Tensor]


@dataclass(frozen=True, slots=True)
class Resumed:
    """`scan`: the new one; `parts`: the steps, for each state; `before`: placeholders of the elements at `rows`."""

    scan: Scan
    parts: Mapping[Tensor, Tensor]
    before: Mapping[Tensor, Tensor]
    rows: Span


def lookback(scan: Scan) -> Lookback | None:
    """What a step reads of those before it; None where that differs from step to step."""
    if not isinstance(scan.extent, int):
        return None
    states = {state.tensor: state for state in scan.states}
    known, most, read = Analyzer(), 0, set()
    for state in scan.states:
        assert state.body is not None
        time = state.axes[state.scan_axis].var
        for node in post_order(state.body):
            if not isinstance(node, Read) or node.tensor not in states:
                continue
            index = node.indices[states[node.tensor].scan_axis]
            while isinstance(index, Cast):
                index = index.a
            step = known.interval(sub(index, time))
            if step.lo is None or not step.is_point:
                return None
            if step.lo:
                read.add(node.tensor)
            most = max(most, -step.lo * scan.direction)
    return Lookback(most, frozenset(read))


def resumed(scan: Scan, span: Span) -> Resumed:
    """The steps of a span, of a scan that has a `lookback`."""
    back = lookback(scan)
    assert back is not None
    assert isinstance(scan.extent, int)
    first, behind = span
    upwards = scan.direction > 0
    rows = (max(first - back.rows, 0), first) if upwards else (behind, min(behind + back.rows, scan.extent))
    count = rows[1] - rows[0]
    steps = _Steps(scan, min(first, rows[0]) if count else first, behind - first + count, rows)
    before = {t: steps.placeholder(t) for t in back.states} if count else {}
    made = steps.made(before)
    if not count:
        return Resumed(steps.scan, made, {}, rows)
    parts = {old: steps.part(old, new, span) for old, new in made.items()}
    return Resumed(steps.scan, parts, before, rows)


class _Steps:
    """The scan over `length` steps from `start` on, of which those of `rows` are known."""

    def __init__(self, scan: Scan, start: int, length: int, rows: Span) -> None:
        self.old = {state.tensor: state for state in scan.states if state.tensor is not None}
        self.start = start
        self.rows = rows
        states = [State(_axes(t, s, length), s.scan_axis) for t, s in self.old.items()]
        self.scan = Scan(tuple(states), length, scan.direction)

    def placeholder(self, tensor: Tensor) -> Tensor:
        """The known elements of a state."""
        shape = _with(tensor, self.old[tensor].scan_axis, self.rows[1] - self.rows[0])
        return replace(tensor, name=f"{tensor.name}_before", shape=shape, op=Placeholder())

    def made(self, before: Mapping[Tensor, Tensor]) -> dict[Tensor, Tensor]:
        """The new states by the old ones; at rows that are known nothing is computed."""
        found: dict[Tensor, Tensor] = {}
        for tensor, state in zip(self.old, self.scan.states, strict=True):
            shape = tuple([axis.extent for axis in state.axes])
            state.tensor = found[tensor] = replace(tensor, shape=shape, op=self.scan)
        for tensor, state in zip(self.old, self.scan.states, strict=True):
            state.body = self._body(self.old[tensor], state, found)
            if before:
                known = self._known(tensor, state, before.get(tensor))
                state.body = select(self._is_known(state), known, state.body)
        return found

    def part(self, old: Tensor, made: Tensor, span: Span) -> Tensor:
        """The steps of the span, without those that are known."""
        axis = self.old[old].scan_axis
        axes = _axes(old, self.old[old], span[1] - span[0])
        places: list[Expr] = [each.var for each in axes]
        if span[0] > self.start:
            places[axis] = add(axes[axis].var, const(span[0] - self.start, INDEX))
        shape = tuple([each.extent for each in axes])
        return replace(old, shape=shape, op=Compute(axes, Read(old.dtype, made, tuple(places))))

    def _body(self, old: State, new: State, found: Mapping[Tensor, Tensor]) -> Expr:
        places: dict[Var, Expr] = {a.var: b.var for a, b in zip(old.axes, new.axes, strict=True)}
        time = new.axes[new.scan_axis].var
        places[old.axes[old.scan_axis].var] = add(time, const(self.start, INDEX)) if self.start else time

        def swapped(node: Expr) -> Expr | None:
            if isinstance(node, Var):
                return places.get(node)
            if isinstance(node, Read) and node.tensor in found:
                axis = self.old[node.tensor].scan_axis
                indices = list(node.indices)
                if self.start:
                    indices[axis] = sub(indices[axis], const(self.start, indices[axis].dtype))
                return Read(node.dtype, found[node.tensor], tuple(indices))
            return None

        assert old.body is not None
        return rewrite(old.body, swapped)

    def _is_known(self, state: State) -> Expr:
        time = state.axes[state.scan_axis].var
        if self.scan.direction > 0:
            return lt(time, const(self.rows[1] - self.start, INDEX))
        return ge(time, const(self.rows[0] - self.start, INDEX))

    def _known(self, tensor: Tensor, state: State, before: Tensor | None) -> Expr:
        """An element of what is known; a zero of a state that no step reads a row before its own of."""
        if before is None:
            return const(0, tensor.dtype)
        places: list[Expr] = [axis.var for axis in state.axes]
        offset = self.rows[0] - self.start
        if offset:
            places[state.scan_axis] = sub(places[state.scan_axis], const(offset, INDEX))
        return Read(tensor.dtype, before, tuple(places))


def _with(tensor: Tensor, axis: int, extent: int) -> tuple[int | Expr, ...]:
    return (*tensor.shape[:axis], extent, *tensor.shape[axis + 1 :])


def _axes(tensor: Tensor, state: State, length: int) -> tuple[IterVar, ...]:
    """Fresh axes of a state over `length` steps."""
    shape = _with(tensor, state.scan_axis, length)
    return tuple([IterVar(Var(INDEX, old.var.name), n) for old, n in zip(state.axes, shape, strict=True)])
