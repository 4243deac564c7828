"""Reductions over the states of a scan as states of their own, with loops of their own.

    scan t: h[t, i] = tanh(x[t, i] + sum(w[i, j] * h[t - 1, j] for j))
-->
    scan t: h_step_sum[t, i] = sum(w[i, j] * h[t - 1, j] for j)
            h[t, i] = tanh(x[t, i] + h_step_sum[t, i])
"""

from __future__ import annotations

from ...base.arith import Analyzer, Const, Expr, Var, cast, free_vars, post_order, substitute
from ...base.vocabulary import INDEX, INT64
from .graph import replace_tensors
from .guards import Guards
from .reductions import outermost_reduces, swapped, under
from .tensor import IterVar, Read, Reduce, Scan, State, Tensor, tensors_read


def reductions_apart(scan: Scan) -> dict[Tensor, Tensor]:
    """The scan's tensors to those of one whose reductions over other positions of a state stand apart.

    Empty where there is nothing to take out.
    """
    lines = {state.tensor: state.scan_axis for state in scan.states if state.tensor is not None}
    parts = [_Parts(state, lines) for state in scan.states]
    if not any(part.made for part in parts):
        return {}
    states = [new for part in parts for new in part.states()]
    fresh = Scan(tuple(states), scan.extent, scan.direction)
    changed: dict[Tensor, Tensor] = {}
    for part in parts:
        for old, new in part.tensors(fresh):
            changed[old] = new
    for state in states:
        assert state.body is not None
        state.body = replace_tensors(state.body, changed)
    return {old: changed[old] for old in lines}


class _Parts:
    """One state, and the states that its reductions become, which run before it."""

    def __init__(self, state: State, lines: dict[Tensor, int]) -> None:
        assert state.body is not None
        assert state.tensor is not None
        self.state, self.lines = state, lines
        self.made: list[tuple[State, Tensor]] = []
        order = post_order(state.body)
        found = outermost_reduces(order, state.body)
        guards = Guards(order) if found else None
        done: dict[int, Expr] = {}
        for node in found:
            if node is state.body or not self._crosses(node):
                continue
            assert guards is not None
            guard = guards.of(node)
            if guard is None or set(lines).isdisjoint(tensors_read(guard.holds)):
                done[id(node)] = self._apart(node if guard is None else under(node, guard.holds))
        self.body = swapped(state.body, done, whole=True)

    def _crosses(self, node: Reduce) -> bool:
        """Whether a reduction reads a state at several positions of one row."""
        own = {axis.var for axis in node.axes}
        return any(
            not own.isdisjoint(free_vars(index))
            for read in post_order(node)
            if isinstance(read, Read) and read.tensor in self.lines
            for dim, index in enumerate(read.indices)
            if dim != self.lines[read.tensor]
        )

    def _apart(self, node: Reduce) -> Expr:
        state = self.state
        analyzer = Analyzer()
        for axis in state.axes:
            analyzer.bind(axis.var, 0, axis.extent)
        if node.condition is not None:
            condition = analyzer.simplify(node.condition)
            holds = isinstance(condition, Const) and bool(condition.value)
            node = Reduce(
                node.dtype, node.combiner, node.axes, node.value, None if holds else condition, node.default
            )
        used = set(free_vars(node)) | {state.axes[state.scan_axis].var}
        axes = [axis for axis in state.axes if axis.var in used]
        fresh = tuple(IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in axes)
        body = substitute(node, {old.var: new.var for old, new in zip(axes, fresh, strict=True)})
        dtype = INT64 if node.dtype is INDEX else node.dtype
        assert state.tensor is not None
        number = len(self.made) or ""
        name = f"{state.tensor.name}_step_{node.combiner}{number}"
        made = State(fresh, axes.index(state.axes[state.scan_axis]), cast(body, dtype))
        tensor = Tensor(name, tuple(axis.extent for axis in axes), dtype, state.tensor.op)
        self.made.append((made, tensor))
        return cast(Read(dtype, tensor, tuple(axis.var for axis in axes)), node.dtype)

    def states(self) -> list[State]:
        """New states in their order."""
        self.own = State(self.state.axes, self.state.scan_axis, self.body)
        return [*(state for state, _ in self.made), self.own]

    def tensors(self, scan: Scan) -> list[tuple[Tensor, Tensor]]:
        """The tensors of the states by those that stood for them, as parts of `scan`."""
        assert self.state.tensor is not None
        pairs: list[tuple[Tensor, Tensor]] = []
        for state, old in (*self.made, (self.own, self.state.tensor)):
            state.tensor = Tensor(old.name, old.shape, old.dtype, scan)
            pairs.append((old, state.tensor))
        return pairs
