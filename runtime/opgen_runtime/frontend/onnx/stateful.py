"""Models that grow what they are given: inputs that an output joins with more are states, appended to in place.

    program = prepare(model, states={"past_key_0": "present_key_0", "past_value_0": "present_value_0"})
    keys, values = (State((1, 8, 64), axis=2, capacity=1024) for _ in range(2))
    logits, keys, values = program([tokens, keys, values])

One program serves all sizes of the open dims, whatever came first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...base import Target
from ...base.contract import raise_defect
from ...base.errors import OpgenError, did_you_mean
from ...base.lru_cache import Footprint
from ...base.vocabulary import DType
from ...ir import Expr, Function, Tuple, Var
from ...operator import Dim, TensorType
from ...run.executor import Growing, State, Stateful, stateful
from .convert import Conversion
from .errors import ModelError, said
from .graph import Model
from .limits import Limits
from .signature import Signature, TensorInput
from .state import State as Known


class StatefulProgram:
    """A model as a callable on arrays and states; it is compiled once, for the first call."""

    def __init__(
        self,
        model: Model,
        signature: Signature,
        target: Target | None,
        limits: Limits,
        states: Mapping[str, str],
    ) -> None:
        """`states`: the output that each input grows into.  Raises ModelError for a name that is none."""
        self._model = model
        self._signature = signature
        self._target = target
        self._limits = limits
        self._growing: list[Growing] = []
        for past, present in states.items():
            for name, known, what in (
                (past, signature.names, "input"),
                (present, signature.outputs, "output"),
            ):
                if name not in known:
                    raise ModelError(f"states: the model has no {what} {name!r}{did_you_mean(name, known)}")
            self._growing.append(Growing(signature.names.index(past), signature.outputs.index(present)))
        self._is_state = [name in states for name in signature.names]
        self._compiled: Stateful | None = None

    def __call__(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
        """The outputs, with the states in the places of those that they have become.

        Raises ModelError for inputs that do not fit, ExecutorError for states that do not, or have no room.
        """
        values = self._bound(inputs)
        if self._compiled is None:
            self._compiled = self._made(values)
        found = self._compiled.run(values)
        return list(found)

    def footprint(self) -> Footprint:
        """The memory of the program."""
        return () if self._compiled is None else self._compiled.footprint()

    def explain(self) -> str:
        """How the model is compiled."""
        if self._compiled is None:
            return "one program for all sizes is made by the first call"
        return self._compiled.explain()

    def _bound(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
        """The values in the order of the inputs."""
        signature = self._signature
        values = signature.in_order(inputs)
        return [
            value if is_state else each.check(value)
            for each, value, is_state in zip(signature.inputs, values, self._is_state, strict=True)
        ]

    def _made(self, values: Sequence[Any]) -> Stateful:
        known, names, graph = Known(None, self._limits), self._signature.names, self._model.graph
        params = [Var(name, kind) for name, kind in zip(names, self._kinds(values), strict=True)]
        conversion = Conversion(self._model, dict(zip(names, params, strict=True)), known)
        with known.budget.current():
            found = conversion.graph(graph, dict(conversion.inputs), self._model.opsets)
        grown = {each.result for each in self._growing}
        others = [k for k in range(len(found)) if k not in grown]
        for k, value in zip(others, known.guarded([found[k] for k in others]), strict=True):
            found[k] = value
        results = [value for value in found if isinstance(value, Expr)]
        if len(results) < len(found) or known.random or known.refusals:
            raise ModelError(
                "a model with states must give tensors of numbers, without random ones and loops of data"
            )
        function = Function(tuple(params), Tuple(tuple(results)))
        capacity = max([value.capacity for value in values if isinstance(value, State)], default=0)
        try:
            made = stateful(function, self._growing, capacity, self._target, known.program)
        except OpgenError as error:
            raise_defect(error)
            raise ModelError(f"the model's program cannot be compiled: {said(error)}") from error
        plan = made.executable.plan
        if plan is not None:
            known.budget.program(plan.memory)
        return made

    def _kinds(self, values: Sequence[Any]) -> list[TensorType]:
        """The types of the inputs with symbolic dims, scheduled for states that are half full and one more element."""
        dims: dict[str, Dim] = {}
        found: dict[int, TensorType] = {}
        signature = self._signature
        for k in sorted(
            range(len(values)), key=lambda k: not self._is_state[k]
        ):  # they say more of their dims
            each, value = signature.inputs[k], values[k]
            assert isinstance(each, TensorInput)
            assert isinstance(each.dtype, DType)
            assert each.dims is not None
            if self._is_state[k] and not isinstance(value, State):
                raise ModelError(f"input {each.name!r} grows: expected a State, found {type(value).__name__}")
            like = [1] * len(each.dims)
            if isinstance(value, State) and len(value.shape) == len(like):
                like = [
                    max(1, value.capacity // 2) if k == value.axis else n for k, n in enumerate(value.shape)
                ]
            found[k] = each.open_type(each.dtype, dims, like)
        return [found[k] for k in range(len(values))]
