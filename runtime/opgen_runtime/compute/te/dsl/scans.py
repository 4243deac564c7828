"""scan: tensors whose rows follow from earlier rows of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....base.arith import Expr, Var, const, ge, lt, select, substitute
from ....base.errors import LanguageError, ShapeError
from ....base.vocabulary import INDEX, INT64
from ..contract import verify_tensor
from ..graph import replace_tensors, tensor_order
from ..tensor import Compute, IterVar, Placeholder, Read, Reduce, Scan, State, Tensor
from .defined import defining

Tensors = Tensor | Sequence[Tensor]


@defining
def scan(
    init: Tensors,
    update: Tensors,
    state_placeholder: Tensors,
    inputs: Sequence[Tensor] = (),
    name: str = "scan",
) -> Any:
    """A recurrence along the first axis: `state[t] = init[t]` for the rows of `init`, then `update[t]`.

    `state_placeholder` is what `update` reads earlier rows of; tensors between the two are computed row by row, too.
    Several states are given as sequences of equal length, and give a list.  `inputs` says what else is read, and is
    found without being said.  Raises ShapeError for shapes that do not fit, LanguageError for what is no compute, and
    AccessError for a read of a row that is not there yet.
    """
    inits, updates, holders = _several(init), _several(update), _several(state_placeholder)
    if not len(inits) == len(updates) == len(holders) or not inits:
        raise ShapeError(
            f"{name}: {len(inits)} initial states, {len(updates)} updates and {len(holders)} placeholders; "
            "expected one of each a state"
        )
    for first, then, holder in zip(inits, updates, holders, strict=True):
        _check(name, first, then, holder)
    made = _Scan(name, inits, updates, holders).tensors()
    return made if isinstance(init, Sequence) else made[0]


def _several(given: Tensors) -> tuple[Tensor, ...]:
    return (given,) if isinstance(given, Tensor) else tuple(given)


def _check(name: str, init: Tensor, update: Tensor, holder: Tensor) -> None:
    if not isinstance(holder.op, Placeholder):
        raise LanguageError(f"{name}: the state {holder.name} is no placeholder")
    if not isinstance(update.op, Compute):
        raise LanguageError(f"{name}: the update {update.name} is no compute")
    if not holder.ndim or holder.shape != update.shape or holder.dtype != update.dtype:
        raise ShapeError(
            f"{name}: the update {update.name} is {update.dtype}{list(update.shape)}, "
            f"its state {holder.name} {holder.dtype}{list(holder.shape)}"
        )
    if init.dtype != holder.dtype or init.shape[1:] != holder.shape[1:] or not isinstance(init.shape[0], int):
        raise ShapeError(
            f"{name}: the initial state {init.name} is {init.dtype}{list(init.shape)}, expected the first rows of "
            f"{holder.name}, {holder.dtype}{list(holder.shape)}"
        )


class _Scan:
    """The states of a scan: those that users name, and the tensors between them and their updates."""

    def __init__(
        self, name: str, inits: Sequence[Tensor], updates: Sequence[Tensor], holders: Sequence[Tensor]
    ) -> None:
        self.name, self.inits, self.updates, self.holders = name, inits, updates, holders
        self.length = holders[0].shape[0]
        self.start = max(int(each.shape[0]) for each in inits if isinstance(each.shape[0], int))

    def tensors(self) -> list[Tensor]:
        between = self._between()
        states = [self._state(tensor) for tensor in (*between, *self.updates)]
        op = Scan(tuple(states), self.length, 1)
        names = [each.name for each in between]
        names += [
            self.name if len(self.holders) == 1 else f"{self.name}_{k}" for k in range(len(self.holders))
        ]
        for state, tensor, own in zip(states, (*between, *self.updates), names, strict=True):
            state.tensor = Tensor(own, tensor.shape, tensor.dtype, op)
        made = [state.tensor for state in states if state.tensor is not None]
        stands = dict(zip((*between, *self.holders), made, strict=True))
        for state, tensor in zip(states, between, strict=False):
            state.body = self._row(state, tensor, stands)
        for k, state in enumerate(states[len(between) :]):
            state.body = self._begun(state, self.inits[k], self._row(state, self.updates[k], stands))
        for tensor in made:
            verify_tensor(tensor, f"te.scan of {self.name}")
        return made[len(between) :]

    def _between(self) -> list[Tensor]:
        """The tensors that depend on a state and that an update needs, producers first."""
        depends: set[Tensor] = set(self.holders)
        found: list[Tensor] = []
        for tensor in tensor_order(self.updates):
            if not depends.isdisjoint(tensor.op.inputs()):
                depends.add(tensor)
                if tensor not in self.updates:
                    found.append(tensor)
        for tensor in found:
            if not isinstance(tensor.op, Compute) or not tensor.ndim or tensor.shape[0] != self.length:
                raise LanguageError(
                    f"{self.name}: {tensor.name} depends on the state; expected a compute of {self.length} rows"
                )
        for tensor in (*found, *self.updates):
            if not set(self.updates).isdisjoint(tensor.op.inputs()):
                raise LanguageError(
                    f"{self.name}: {tensor.name} reads an update; expected a read of its state"
                )
        return found

    @staticmethod
    def _state(tensor: Tensor) -> State:
        assert isinstance(tensor.op, Compute)
        return State(tuple(IterVar(Var(INDEX, a.var.name), a.extent) for a in tensor.op.axes), 0, rule=tensor)

    def _row(self, state: State, tensor: Tensor, stands: dict[Tensor, Tensor]) -> Expr:
        """A row of an update, or of a tensor between; rows before the first update are zeros."""
        op = tensor.op
        assert isinstance(op, Compute)
        body = substitute(op.body, {a.var: b.var for a, b in zip(op.axes, state.axes, strict=True)})
        body = replace_tensors(body, stands)
        begun = ge(state.axes[0].var, self.start)
        if body.dtype is INDEX:
            body = body + const(0, INT64)
        if isinstance(body, Reduce):  # stays the root, so that its axes are loops
            condition = begun if body.condition is None else select(begun, body.condition, False)
            return Reduce(body.dtype, body.combiner, body.axes, body.value, condition, body.default)
        return select(begun, body, const(False if body.dtype.is_bool else 0, body.dtype))

    def _begun(self, state: State, init: Tensor, row: Expr) -> Expr:
        """The initial rows, then the others."""
        place = tuple(axis.var for axis in state.axes)
        return select(lt(place[0], init.shape[0]), Read(init.dtype, init, place), row)
