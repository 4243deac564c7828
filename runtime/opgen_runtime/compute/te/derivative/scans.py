"""Scans backwards: the adjoints of the states are states of a scan in the other direction.

    s[t] = f(s[t - 1], x[t]) upwards   -->   d_s[t] = g[t] + d_s[t + 1] * f'(s[t], x[t + 1]) downwards

The states themselves are kept whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base.arith import Const, Expr, add, post_order, sub
from ....base.errors import LanguageError
from ..access import analysis
from ..construct import data_axes
from ..tensor import Read, Scan, State, Tensor
from .local import adjoint_dtype
from .place import Gathered, gathered, has_steps, int_of
from .term import Term, terms_of


def pull_scan(
    scan: Scan, given: Sequence[Tensor | None], active: set[Tensor], out: Callable[[Sequence[Term]], None]
) -> None:
    """Sends the terms of what the bodies read besides the states to `out`.

    `given`: what comes from outside for the adjoint of each state, None for nothing.  Raises LanguageError for a state
    that is read at rows that its position does not tell, and for reductions of states other than sums.
    """
    extent = int_of(scan.extent)
    made: dict[Tensor, State] = {}
    backwards: list[State] = []
    for state in reversed(scan.states):
        assert state.tensor is not None
        if state.tensor not in active:
            continue
        axes = data_axes(state.tensor.shape)
        made[state.tensor] = State(axes, state.scan_axis)
        backwards.append(made[state.tensor])
    reverse = Scan(tuple(backwards), extent, -scan.direction)
    for tensor, adjoint in made.items():
        adjoint.tensor = Tensor(f"d_{tensor.name}", tensor.shape, adjoint_dtype(tensor.dtype), reverse)
    inside: dict[Tensor, list[Term]] = {tensor: [] for tensor in made}
    outside: list[Term] = []
    for state in scan.states:
        if state.tensor not in made:
            continue
        assert state.tensor is not None
        assert state.body is not None
        holder = made[state.tensor].tensor
        assert holder is not None
        at = tuple([axis.var for axis in state.axes])
        whole = None if state.tensor.dtype.is_storage else Read(state.tensor.dtype, state.tensor, at)
        for term in terms_of(state.body, state.axes, None, Read(holder.dtype, holder, at), active, whole):
            inside.get(term.tensor, outside).append(term)
    own = {adjoint.tensor for adjoint in made.values() if adjoint.tensor is not None}
    starts = dict(zip([state.tensor for state in scan.states], given, strict=True))
    for tensor, adjoint in made.items():
        start = starts[tensor]
        at = tuple([axis.var for axis in adjoint.axes])
        assert adjoint.tensor is not None
        total: Expr = Const(adjoint.tensor.dtype, 0.0) if start is None else Read(start.dtype, start, at)
        for term in inside[tensor]:
            if has_steps(term):
                part = gathered(term, adjoint.axes)[0]
                if part.is_empty:  # a recurrence of one step
                    continue
                _check_rows(tensor, part, adjoint, own)
                total = add(total, part.expression())
        adjoint.body = total
    out(outside)


def _check_rows(tensor: Tensor, part: Gathered, adjoint: State, own: set[Tensor]) -> None:
    """The adjoints of rows that are known by then: at a fixed distance from this one."""
    row = adjoint.axes[adjoint.scan_axis].var
    for node in post_order(part.value):
        if isinstance(node, Read) and node.tensor in own:
            state = next(s for s in _scan_of(node.tensor).states if s.tensor is node.tensor)
            extents = {row: _scan_of(node.tensor).extent, **{axis.var: axis.extent for axis in part.loops}}
            with analysis(extents, ()) as analyzer:
                distance = analyzer.simplify(sub(node.indices[state.scan_axis], row))
            if not isinstance(distance, Const):
                raise LanguageError(f"{tensor.name} is read at rows that are not at a fixed distance")


def _scan_of(tensor: Tensor) -> Scan:
    assert isinstance(tensor.op, Scan)
    return tensor.op
