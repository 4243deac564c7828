"""Programs that append to states in place (`state.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import Target
from ...base.errors import ExecutorError
from ...base.lru_cache import Footprint
from ...ir import Function, IRModule, Tuple
from ...ir import Var as Parameter
from ...operator import TensorType
from ...transform.context import PassContext
from ...transform.states import Buffered, Grown, with_buffers
from ...transform.states import Growing as Growing
from ..compile.program.plan import Donation, PutSlice
from .arrays.state import Held, State
from .driver import build_program
from .executable import Executable


class Stateful:
    """A program on arrays and states, which appends to these in place.

    `run` takes what the function does, with states for the parameters that grow, and gives them back as the results
    that they have become.
    """

    def __init__(self, executable: Executable, function: Function, buffered: Buffered) -> None:
        """`function`: as it was before it took buffers."""
        self.executable = executable
        self.inputs = tuple([param.name_hint for param in function.params])
        self._grown = buffered.grown
        self._tellers = buffered.tellers
        self._dtypes = [_tensor(function.params[each.param]).dtype.numpy for each in buffered.grown]
        self._is_tuple = isinstance(function.body, Tuple)
        self._dims = buffered.dims
        self._ends = buffered.ends

    def footprint(self) -> Footprint:
        """The memory of the program."""
        return self.executable.footprint()

    def entry(self) -> None:
        """There are no built-in functions of states."""

    def explain(self) -> str:
        """What the program is and how it runs."""
        return self.executable.explain()

    def run(self, values: Sequence[Any]) -> Any:
        """The results; the states among the values are longer then.

        Raises ExecutorError for arrays and states that do not fit, a state that has no room, is given twice or in use.
        """
        if len(values) != len(self.inputs):
            raise ExecutorError(f"the program takes {len(self.inputs)} values, found {len(values)}")
        states = [
            self._state(each, dtype, values) for each, dtype in zip(self._grown, self._dtypes, strict=True)
        ]
        with Held({self.inputs[each.param]: state for each, state in zip(self._grown, states, strict=True)}):
            arrays = list(values)
            for each, state in zip(self._grown, states, strict=True):
                arrays[each.param] = state._buffer
            arrays += [values[k]._ticks[: values[k].length] for k in self._tellers]
            ends = self._room(arrays, states, values)
            found = self.executable.run(arrays)
            for state, end in zip(states, ends, strict=True):
                state._length = end
        results: list[Any] = list(found) if isinstance(found, tuple) else [found]
        for each, state in zip(self._grown, states, strict=True):
            results[each.result] = state
        return tuple(results) if self._is_tuple else results[0]

    def _state(self, grown: Grown, dtype: np.dtype[Any], values: Sequence[Any]) -> State:
        """The state that is given for a parameter."""
        name, value = self.inputs[grown.param], values[grown.param]
        if not isinstance(value, State):
            raise ExecutorError(f"{name} grows: expected a State, found {type(value).__name__}")
        if value.axis != grown.axis or value.dtype != dtype:
            raise ExecutorError(f"{name} is {dtype.name} and grows along axis {grown.axis}, found {value!r}")
        first = values[grown.teller]
        if value.length != first.length:
            raise ExecutorError(
                f"{name} has length {value.length}, {self.inputs[grown.teller]} {first.length}: they have one dim"
            )
        return value

    def _room(
        self, arrays: Sequence[np.ndarray], states: Sequence[State], values: Sequence[Any]
    ) -> tuple[int, ...]:
        """The lengths of the states after the call, for which there is room."""
        dims = [np.shape(arrays[k])[axis] for k, axis in self._dims]
        found = self._ends(*dims, *[values[k].length for k in self._tellers])
        for state, end in zip(states, found, strict=True):
            state._check_room(end)
        return found


def stateful(
    function: Function,
    growing: Sequence[Growing],
    capacity: int,
    target: Target | str | None = None,
    module: Callable[[Function], IRModule | Function] = lambda function: function,
    context: PassContext | None = None,
) -> Stateful:
    """A typed function compiled to append to what grows in place, scheduled for a capacity.

    `module`: the program whose main is a function.  Raises PassError where a result is not what its parameter grows
    into, ExecutorError where the program has no plan, and what `build` raises.
    """
    buffered = with_buffers(function, growing, capacity)
    donations = [Donation(each.param, each.result, grows=True) for each in growing]
    executable = build_program(module(buffered.function), target=target, context=context, donations=donations)
    plan = executable.plan
    assert plan is not None
    put = {each.whole for each in plan.code if isinstance(each, PutSlice)}
    for each in growing:
        if plan.outputs[each.result] not in put:
            name = function.params[each.param].name_hint
            raise ExecutorError(
                f"{name} cannot grow in place: what is appended to it is not written by itself"
            )
    return Stateful(executable, function, buffered)


def _tensor(param: Parameter) -> TensorType:
    kind = param.checked_type
    assert isinstance(kind, TensorType)
    return kind
