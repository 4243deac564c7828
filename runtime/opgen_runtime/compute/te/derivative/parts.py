"""Scans in parts: the recurrence of some steps alone, from the rows before them.

    h[t] = f(h[t - 1], x[t]), t < 1000    y[t] = 2 * h[t]
-->
    h[u] = f(h[u - 1] if u > 0 else start[0], x[t]), u < 32, t = 32 * number + u - 24
    end[0] = h[31]    y[t] = 2 * h[t - 32 * number + 24] where this is one of its steps, 0 elsewhere

The first part is the one that may be shorter: its first rows are zeros that nobody reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ....base.arith import (
    Const,
    Expr,
    Var,
    add,
    cast,
    floormod,
    ge,
    literal,
    logical_and,
    lt,
    mul,
    post_order,
    rewrite,
    select,
    sub,
    substitute,
)
from ....base.vocabulary import INDEX, dataclass
from ..access import analysis
from ..construct import data_axes
from ..graph import replace_tensors, tensor_order
from ..tensor import Compute, Placeholder, Read, Reduce, Scan, State, Tensor
from .pull import pullback
from .stages import rebuilt


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Outputs that are moves and sums of the rows of one scan, whose extent is known.

    `depths`: of each state of which earlier rows are read, how far back.
    """

    outputs: tuple[Tensor, ...]
    scan: Scan
    extent: int
    depths: Mapping[Tensor, int]

    def starts(self) -> list[Tensor]:
        """Placeholders for the rows before a part, one for each state of `depths`."""
        made: list[Tensor] = []
        for state in self.scan.states:
            if state.tensor is not None and state.tensor in self.depths:
                shape = _with_rows(state, self.depths[state.tensor])
                made.append(Tensor(f"start_{state.tensor.name}", shape, state.tensor.dtype, Placeholder()))
        return made

    def part(self, every: int, starts: Sequence[Tensor], number: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """The rows after part `number` of `every` steps, one tensor a start, and what it adds to the outputs.

        `number`: an int64 of rank 0, from 0 to `-(-extent // every) - 1`; others count round and round.
        """
        made = _Part(self, every, starts, number)
        return made.ends(), made.outputs()


def recurrence_of(outputs: Sequence[Tensor]) -> Recurrence | None:
    """The recurrence that outputs are rows of; None where they are anything else, or its extent is not known."""
    scans = {id(tensor.op): tensor.op for tensor in tensor_order(outputs) if isinstance(tensor.op, Scan)}
    if len(scans) != 1:
        return None
    (scan,) = scans.values()
    depths = _depths(scan)
    if not depths or not isinstance(scan.extent, int) or not _is_linear(outputs, scan):
        return None
    return Recurrence(tuple(outputs), scan, scan.extent, depths)


def _depths(scan: Scan) -> dict[Tensor, int] | None:
    """How far back the rows of each state are read; None where that is not fixed."""
    found: dict[Tensor, int] = {}
    places = {state.tensor: state.scan_axis for state in scan.states}
    for state in scan.states:
        assert state.body is not None
        row = state.axes[state.scan_axis].var
        for node in post_order(state.body):
            if isinstance(node, Read) and node.tensor in places:
                back = _back(node.indices[places[node.tensor]], row, scan.direction)
                if back is None:
                    return None
                if back:
                    found[node.tensor] = max(back, found.get(node.tensor, 0))
    return found


def _back(index: Expr, row: Var, direction: int) -> int | None:
    """How many steps before that of `row` the row at `index` is made."""
    if index is row:
        return 0
    with analysis({}, ()) as analyzer:
        found = analyzer.simplify(sub(row, index) if direction > 0 else sub(index, row))
    return int(found.value) if isinstance(found, Const) and found.value >= 0 else None


def _is_linear(outputs: Sequence[Tensor], scan: Scan) -> bool:
    """Whether the outputs are sums of rows of the states and nothing else: the adjoints of parts add up to theirs."""
    states = [state.tensor for state in scan.states if state.tensor is not None]
    after = tensor_order(outputs, given=states)
    if any([not isinstance(t.op, Compute) and (t.dtype.is_inexact or t.op.inputs()) for t in after]):
        return False
    holders = {t: replace(t, op=Placeholder()) for t in states}
    made = rebuilt(outputs, holders)
    duals = [replace(each, op=Placeholder()) if each.dtype.is_inexact else None for each in made]
    for holder in holders.values():
        adjoint = pullback(made, duals, holder) if holder.dtype.is_inexact else None
        if adjoint is not None and not set(holders.values()).isdisjoint(tensor_order([adjoint])):
            return False
    return True


class _Part:
    """One part: its scan over `every` steps."""

    def __init__(self, whole: Recurrence, every: int, starts: Sequence[Tensor], number: Tensor) -> None:
        self.whole = whole
        self.every = every
        self.old = {state.tensor: state for state in whole.scan.states if state.tensor is not None}
        self.starts = dict(zip([t for t in self.old if t in whole.depths], starts, strict=True))
        self.missing = -whole.extent % every
        own = floormod(cast(Read(number.dtype, number, ()), INDEX), -(-whole.extent // every))
        self.first = sub(mul(own, every), self.missing)  # the step of the first row
        states = {
            t: State(data_axes(_with_rows(each, every)), each.scan_axis) for t, each in self.old.items()
        }
        op = Scan(tuple(states.values()), every, 1)
        self.made: dict[Tensor, Tensor] = {}
        for t, state in states.items():
            state.tensor = self.made[t] = Tensor(t.name, _with_rows(state, every), t.dtype, op)
        for t, state in states.items():
            state.body = self._body(self.old[t], state)

    def ends(self) -> list[Tensor]:
        found: list[Tensor] = []
        for t, start in self.starts.items():
            axes, at = data_axes(start.shape), self.old[t].scan_axis
            indices = [axis.var for axis in axes]
            own = add(indices[at], self.every - self.whole.depths[t])
            body = self._row(t, [*indices[:at], own, *indices[at + 1 :]])
            found.append(Tensor(f"end_{t.name}", start.shape, start.dtype, Compute(axes, body)))
        return found

    def outputs(self) -> list[Tensor]:
        done: dict[Tensor, Tensor] = {}
        for tensor in tensor_order(self.whole.outputs, given=self.old):
            if isinstance(tensor.op, Compute):
                body = rewrite(replace_tensors(tensor.op.body, done), self._outside)
                done[tensor] = replace(tensor, op=Compute(tensor.op.axes, body))
        return [done[each] if each in done else self._whole(each) for each in self.whole.outputs]

    def _whole(self, tensor: Tensor) -> Tensor:
        """All rows of a state: those of other parts are zeros."""
        axes = data_axes(tensor.shape)
        body = self._outside(Read(tensor.dtype, tensor, tuple([axis.var for axis in axes])))
        return tensor if body is None else replace(tensor, op=Compute(axes, body))

    def _body(self, old: State, new: State) -> Expr:
        assert old.body is not None
        own = new.axes[new.scan_axis].var
        row = old.axes[old.scan_axis].var

        def inside(node: Expr) -> Expr | None:
            if not isinstance(node, Read) or node.tensor not in self.old:
                return None
            at = self.old[node.tensor].scan_axis
            back = _back(node.indices[at], row, self.whole.scan.direction)
            assert back is not None
            return self._row(node.tensor, [*node.indices[:at], sub(own, back), *node.indices[at + 1 :]])

        body = rewrite(old.body, inside)
        step = add(self.first, own)
        names: dict[Var, Expr] = {a.var: b.var for a, b in zip(old.axes, new.axes, strict=True)}
        names[row] = step if self.whole.scan.direction > 0 else sub(self.whole.extent - 1, step)
        body = substitute(body, names)
        if not self.missing:
            return body
        if isinstance(body, Reduce) and body.combiner == "sum":  # stays the root, so that its axes are loops
            begun = ge(step, 0) if body.condition is None else select(ge(step, 0), body.condition, False)
            return replace(body, condition=begun)
        return select(ge(step, 0), body, _zero(body))

    def _row(self, tensor: Tensor, indices: Sequence[Expr]) -> Expr:
        """The row of a state at a step of this part: one of those before it, where that is less than 0."""
        at, depth = self.old[tensor].scan_axis, self.whole.depths.get(tensor, 0)
        here = Read(tensor.dtype, self.made[tensor], tuple(indices))
        step = indices[at]
        if not depth or isinstance(step, Var):
            return here
        before = (*indices[:at], add(step, depth), *indices[at + 1 :])
        return select(ge(step, 0), here, Read(tensor.dtype, self.starts[tensor], before))

    def _outside(self, node: Expr) -> Expr | None:
        """A row of a state as outputs read it."""
        if not isinstance(node, Read) or node.tensor not in self.old:
            return None
        at = self.old[node.tensor].scan_axis
        step = (
            node.indices[at]
            if self.whole.scan.direction > 0
            else sub(self.whole.extent - 1, node.indices[at])
        )
        own = sub(step, self.first)
        here = Read(node.dtype, self.made[node.tensor], (*node.indices[:at], own, *node.indices[at + 1 :]))
        return select(logical_and(ge(own, 0), lt(own, self.every)), here, _zero(here))


def _with_rows(state: State, rows: int) -> tuple[int | Expr, ...]:
    extents = [axis.extent for axis in state.axes]
    extents[state.scan_axis] = rows
    return tuple(extents)


def _zero(like: Expr) -> Expr:
    return literal(False if like.dtype.is_bool else 0, like.dtype)
