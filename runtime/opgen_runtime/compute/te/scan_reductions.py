"""Reductions over the states of a scan as states of their own, with loops of their own.

    scan t: h[t, i] = tanh(x[t, i] + sum(w[i, j] * (h[t - 1, j] if t > 0 else 0) for j))
-->
    scan t: h_row[t, j] = h[t - 1, j] if t > 0 else 0
            h_step_sum[t, i] = sum(w[i, j] * h_row[t, j] for j)
            h[t, i] = tanh(x[t, i] + h_step_sum[t, i])

Where elements of tensors tell which rows of a state are wanted, the steps in which none is are left out.

A factor of a product that is computed from states, and would be again for each position along some axis, is a state,
too: equal ones are one.  Loops of sums then read what lies there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base.arith import (
    Analyzer,
    Binary,
    Cast,
    Const,
    Expr,
    Var,
    cast,
    const,
    free_vars,
    is_size,
    post_order,
    select,
    structural_equal,
    substitute,
)
from ...base.vocabulary import BOOL, INDEX, INT64
from .graph import replace_tensors
from .guards import Guards
from .reductions import outermost_reduces, swapped, where_wanted
from .tensor import Compute, IterVar, Read, Reduce, Scan, State, Tensor, tensors_read


def reductions_apart(scan: Scan) -> dict[Tensor, Tensor]:
    """The scan's tensors to those of one whose reductions over other positions of a state stand apart.

    Empty where there is nothing to take out.
    """
    lines = {state.tensor: state.scan_axis for state in scan.states if state.tensor is not None}
    rows = _Rows(lines)
    parts = [_Parts(state, lines, rows) for state in scan.states]
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


class _Rows:
    """Factors of the sums of all states, as states: each stands before the first sum that reads it.

    And the steps in which sums are wanted, as tensors.
    """

    def __init__(self, lines: dict[Tensor, int]) -> None:
        self.lines = lines
        self.made: list[tuple[Expr, tuple[IterVar, ...], Tensor]] = []
        self.steps: list[tuple[Expr, tuple[IterVar, ...], Tensor]] = []

    def some(self, name: str, line: IterVar, axes: Sequence[IterVar], guard: Expr) -> Expr:
        """Whether `guard`, which reads no state, holds anywhere along `axes` in the step at `line`."""
        used = set(free_vars(guard))
        old = (line, *[axis for axis in axes if axis.var in used])
        step, *rest = (IterVar(Var(INDEX, axis.var.name), axis.extent, axis.kind) for axis in old)
        rows = tuple([IterVar(axis.var, axis.extent, "reduce") for axis in rest])
        there = substitute(guard, {a.var: b.var for a, b in zip(old, (step, *rows), strict=True)})
        for other, theirs, tensor in self.steps:
            if _is_same(other, theirs, there, (step, *rows)):
                return Read(BOOL, tensor, (line.var,))
        tensor = Tensor(name, (step.extent,), BOOL, Compute((step,), Reduce(BOOL, "any", rows, there)))
        self.steps.append((there, (step, *rows), tensor))
        return Read(BOOL, tensor, (line.var,))

    def apart(self, node: Reduce, state: State) -> tuple[Reduce, list[tuple[State, Tensor]]]:
        """A reduction that reads its factors as rows, and the states that are new."""
        product = node.value
        if not isinstance(product, Binary) or product.op != "mul":
            return node, []
        new: list[tuple[State, Tensor]] = []
        a, b = (self._row(factor, node, state, new) for factor in (product.a, product.b))
        if a is product.a and b is product.b:
            return node, []
        value = product.rebuild((a, b))
        return Reduce(node.dtype, node.combiner, node.axes, value, node.condition, node.default), new

    def _row(self, factor: Expr, node: Reduce, state: State, new: list[tuple[State, Tensor]]) -> Expr:
        there = factor if node.condition is None else select(node.condition, factor, const(0, factor.dtype))
        used = set(free_vars(there))
        line = state.axes[state.scan_axis]
        kept = [axis for axis in (*state.axes, *node.axes) if axis.var in used or axis is line]
        again = [axis for axis in state.axes if axis not in kept and axis.extent != 1]
        if not again or not self._is_computed(factor) or not all(_is_fixed(axis.extent) for axis in kept):
            return factor
        fresh = tuple(IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in kept)
        renamed = {old.var: each.var for old, each in zip(kept, fresh, strict=True)}
        body = substitute(there, renamed)
        indices = tuple(axis.var for axis in kept)
        for other, axes, tensor in self.made:
            if _is_same(other, axes, body, fresh):
                return Read(factor.dtype, tensor, indices)
        assert state.tensor is not None
        name = f"{state.tensor.name}_row{len(self.made) or ''}"
        tensor = Tensor(name, tuple(axis.extent for axis in fresh), factor.dtype, state.tensor.op)
        self.made.append((body, fresh, tensor))
        new.append((State(fresh, kept.index(line), body), tensor))
        return Read(factor.dtype, tensor, indices)

    def _is_computed(self, factor: Expr) -> bool:
        """Whether a factor is more than an element of a state, and made of states."""
        plain = factor.a if isinstance(factor, Cast) else factor
        reads = [node for node in post_order(factor) if isinstance(node, Read)]
        nested = any(isinstance(node, Reduce) for node in post_order(factor))
        own = any(read.tensor in self.lines for read in reads)
        return own and not nested and not isinstance(plain, Read) and factor.dtype is not INDEX


def _is_fixed(extent: int | Expr) -> bool:
    """Whether an axis is as long everywhere."""
    return isinstance(extent, int) or is_size(extent)


def _is_same(a: Expr, axes: Sequence[IterVar], b: Expr, others: Sequence[IterVar]) -> bool:
    """Whether two bodies over axes in their order are one."""
    if len(axes) != len(others) or not all(map(_as_long, axes, others)):
        return False
    return structural_equal(a, substitute(b, {y.var: x.var for x, y in zip(axes, others, strict=True)}))


def _as_long(a: IterVar, b: IterVar) -> bool:
    m, n = a.extent, b.extent
    return m == n if isinstance(m, int) or isinstance(n, int) else structural_equal(m, n)


class _Parts:
    """One state, and the states that its reductions become, which run before it."""

    def __init__(self, state: State, lines: dict[Tensor, int], rows: _Rows) -> None:
        assert state.body is not None
        assert state.tensor is not None
        self.state, self.lines, self.rows = state, lines, rows
        self.made: list[tuple[State, Tensor]] = []
        self.sums = 0
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
                done[id(node)] = self._apart(node if guard is None else self._wanted(node, guard.holds))
        self.body = swapped(state.body, done, whole=True)

    def _wanted(self, node: Reduce, guard: Expr) -> Reduce:
        """A reduction where `guard` holds; one of all rows runs in the steps in which some are wanted."""
        line = self.state.axes[self.state.scan_axis]
        axes = [axis for axis in self.state.axes if axis is not line]
        found = where_wanted(node, guard, axes)
        if found.condition is not None:
            return found
        assert self.state.tensor is not None
        condition = self.rows.some(f"{self.state.tensor.name}_some", line, axes, guard)
        return Reduce(found.dtype, found.combiner, found.axes, found.value, condition, found.default)

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
        node, rows = self.rows.apart(node, state)
        self.made += rows
        used = set(free_vars(node)) | {state.axes[state.scan_axis].var}
        axes = [axis for axis in state.axes if axis.var in used]
        fresh = tuple(IterVar(Var(INDEX, axis.var.name), axis.extent) for axis in axes)
        body = substitute(node, {old.var: new.var for old, new in zip(axes, fresh, strict=True)})
        dtype = INT64 if node.dtype is INDEX else node.dtype
        assert state.tensor is not None
        number = self.sums or ""
        self.sums += 1
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
