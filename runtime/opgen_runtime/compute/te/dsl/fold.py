"""Reductions by a function that users give: a scan over the reduced positions, of which the last row is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....base.arith import Expr, Var, comparing, floordiv, floormod, gt, select, substitute
from ....base.errors import DTypeError
from ....base.vocabulary import INDEX, dataclass
from ..construct import data_axes, read
from ..tensor import Compute, IterVar, Read, Scan, State, Tensor

Values = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """`combine(before, value)` for each position of the axes, the last axis fastest, from `identity` on.

    `single`: the functions take and give one value, not tuples of them.
    """

    name: str
    combine: Callable[[Any, Any], object]
    identity: Values
    values: Values
    axes: tuple[IterVar, ...]
    condition: Expr | None
    single: bool

    def tensors(self, name: str, axes: tuple[IterVar, ...]) -> Tensor | list[Tensor]:
        """The results as tensors over the data axes; one a value."""
        length: int | Expr = 1
        for axis in self.axes:
            length = length * axis.extent
        states = [self._state(axes, length) for _ in self.values]
        op = Scan(tuple(states), length, 1)
        names = [name] if self.single else [f"{name}_{k}" for k in range(len(states))]
        for own, state, value in zip(names, states, self.values, strict=True):
            shape = (length, *(axis.extent for axis in axes))
            state.tensor = Tensor(f"{own}_steps", shape, value.dtype, op)
        for k, state in enumerate(states):
            state.body = self._step(axes, states, k)
        made = [
            self._last(own, axes, state, length, start)
            for own, state, start in zip(names, states, self.identity, strict=True)
        ]
        return made[0] if self.single else made

    @staticmethod
    def _state(axes: Sequence[IterVar], length: int | Expr) -> State:
        step = IterVar(Var(INDEX, "step"), length)
        return State((step, *(IterVar(Var(INDEX, a.var.name), a.extent) for a in axes)), 0)

    def _step(self, axes: Sequence[IterVar], states: Sequence[State], k: int) -> Expr:
        """The row of state k: what came before, combined with this step's value."""
        own = states[k].axes
        step, place = own[0].var, tuple(axis.var for axis in own[1:])
        here: dict[Var, Expr] = {a.var: v for a, v in zip(axes, place, strict=True)}
        rest: Expr = step
        for axis in reversed(self.axes[1:]):
            here[axis.var] = floormod(rest, axis.extent)
            rest = floordiv(rest, axis.extent)
        here[self.axes[0].var] = rest
        before = []
        for state, start in zip(states, self.identity, strict=True):
            assert state.tensor is not None
            earlier = Read(state.tensor.dtype, state.tensor, (step - 1, *place))
            before.append(select(gt(step, 0), earlier, start))
        now = [substitute(value, here) for value in self.values]
        combined = called(self.combine, before, now, self.single, self.name)[k]
        if self.condition is not None:
            combined = select(substitute(self.condition, here), combined, before[k])
        return combined

    @staticmethod
    def _last(name: str, axes: Sequence[IterVar], state: State, length: int | Expr, start: Expr) -> Tensor:
        """The row of the last step; where there is none, what the reduction starts from."""
        assert state.tensor is not None
        own = data_axes(tuple(axis.extent for axis in axes), [axis.var.name for axis in axes])
        body = start
        if length != 0:
            row = read(state.tensor, length - 1, *(axis.var for axis in own))
            body = row if isinstance(length, int) else select(gt(length, 0), row, start)
        return Tensor(name, tuple(a.extent for a in own), body.dtype, Compute(own, body))


def called(
    combine: Callable[[Any, Any], object], a: Sequence[Expr], b: Sequence[Expr], single: bool, name: str
) -> Values:
    """What a user's function makes of two values, or of two tuples of them.

    Raises DTypeError where it gives another number of values, or values of other dtypes.
    """
    with comparing():
        given = combine(a[0], b[0]) if single else combine(tuple(a), tuple(b))
    made = (given,) if single else tuple(given) if isinstance(given, tuple | list) else (given,)
    wanted = [value.dtype for value in a]
    found = [value.dtype if isinstance(value, Expr) else repr(value) for value in made]
    if found != wanted:
        raise DTypeError(
            f"{name} combines {', '.join(wanted)}, its function gives {', '.join(map(str, found))}"
        )
    return tuple(value for value in made if isinstance(value, Expr))
