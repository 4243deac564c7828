"""A model converted and compiled for the types of its inputs, and for values that decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...base import Target
from ...base.contract import raise_defect
from ...base.errors import OpgenError
from ...base.lru_cache import Footprint
from ...ir import Constant, Expr, Function, Tuple, Var, free_vars
from ...operator import Dim, TensorType
from ...run.executor import Entry, Executable, array_type, build_program
from .convert import Conversion
from .direct import Direct
from .errors import ModelError, said
from .graph import Model
from .limits import Limits
from .narrow import Narrow, NarrowArray
from .state import Probe, State, Value, fresh_key
from .structure import filled, structure_of
from .texts import Texts


class Specialisation:
    """A model converted and compiled for the types of its inputs and for the values of its probes."""

    def __init__(
        self,
        model: Model,
        names: Sequence[str],
        values: Sequence[Any],
        target: Target | None,
        limits: Limits,
        kinds: Sequence[TensorType] | None = None,
    ) -> None:
        """`kinds`: types of the inputs, all tensors, of symbolic dims; no value may decide the program then."""
        self.params: list[Var] = []
        given: dict[Var, np.ndarray] = {}
        inputs: dict[str, Value] = {}
        if kinds is None:
            inputs = {name: self._parameter(name, v, given) for name, v in zip(names, values, strict=True)}
        else:
            self.params = [Var(name, kind) for name, kind in zip(names, kinds, strict=True)]
            inputs = dict(zip(names, self.params, strict=True))
        state = State(given if kinds is None else None, limits)
        outputs = Conversion(model, inputs, state).outputs()
        self.is_decided_by_sizes = state.is_decided_by_sizes
        self.random = state.random
        self.checks = [_Check(probe, target, state) for probe in state.probes]
        leaves: list[Expr] = []
        self.structure = [structure_of(value, leaves) for value in outputs]
        self.leaves = leaves
        self.refusals = [why for _, why in state.refusals]
        self.computed = [flag for flag, _ in state.refusals]
        self.computed += [leaf for leaf in leaves if not isinstance(leaf, Constant)]
        self.executable: Executable | None = None
        self.inputs: list[Var] = []
        if self.computed:
            body = self.computed[0] if len(self.computed) == 1 else Tuple(tuple(self.computed))
            self.inputs = free_vars(body)
            self.inputs += _tellers(self.params, self.inputs)
            self.executable = _built(Function(tuple(self.inputs), body), target, state)
        self.direct = self._as_direct()

    def _parameter(self, name: str, value: Any, given: dict[Var, np.ndarray]) -> Value:
        if value is None:
            return None
        if isinstance(value, list):
            return [self._parameter(f"{name}_{k}", item, given) for k, item in enumerate(value)]
        if isinstance(value, Texts):
            return value
        if isinstance(value, NarrowArray):
            carrier = self._parameter(name, value.array, given)
            assert isinstance(carrier, Expr)
            return Narrow(carrier, value.kind)
        var = Var(name, array_type(value))
        self.params.append(var)
        given[var] = value
        return var

    @property
    def why_interpreted(self) -> str | None:
        """Why it is no native function; None where it is."""
        return None if self.executable is None else self.executable.why_interpreted

    def memory(self, arrays: Sequence[np.ndarray]) -> int:
        """Bytes that results and what lies between kernels take at a time."""
        if self.executable is None:
            return 0
        return self.executable.memory([arrays[self.params.index(var)].shape for var in self.inputs]) or 0

    def footprint(self) -> Footprint:
        """The memory of the program, and of those of its checks that have been needed."""
        for program in (self.executable, *[check.executable for check in self.checks]):
            if program is not None:
                yield from program.footprint()

    def _as_direct(self) -> Direct | None:
        """The program as one run of its executable; None if it is more: probes, keys, constants, sequences, nothing."""
        is_plain = self.executable is not None and len(self.computed) == len(self.leaves)
        if (
            not is_plain
            or self.checks
            or self.random
            or self.refusals
            or self.structure != list(range(len(self.leaves)))
        ):
            return None
        assert self.executable is not None
        return Direct(self.executable, len(self.params), [self.params.index(var) for var in self.inputs])

    def entry(self) -> Entry | None:
        """Native functions of the inputs in their order, where a run on them is all that the program is."""
        return None if self.direct is None else self.direct.entry()

    def run(self, arrays: Sequence[np.ndarray]) -> list[Any] | None:
        """The outputs; None if a value that the program was specialised on is another one now."""
        if self.direct is not None:
            return self.direct.run(arrays)
        values = self._given(arrays)
        for check in self.checks:
            found = check.value(values)
            if not check.probe.holds(found):
                return None
            if check.probe.stands is not None:
                values[check.probe.stands] = found
        return self._outputs(values)

    def first_result(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        """The outputs for the inputs that the program was specialised for."""
        values = self._given(arrays)
        for check in self.checks:
            if check.probe.stands is not None:
                values[check.probe.stands] = check.probe.value
        return self._outputs(values)

    def _given(self, arrays: Sequence[np.ndarray]) -> dict[Var, np.ndarray]:
        values = dict(zip(self.params, arrays, strict=True))
        for var in self.random:
            values[var] = fresh_key()
        return values

    def _outputs(self, values: dict[Var, np.ndarray]) -> list[Any]:
        computed: Sequence[Any] = ()
        if self.executable is not None:
            result = self.executable.run([values[var] for var in self.inputs])
            computed = result if isinstance(result, tuple) else (result,)
        for flag, why in zip(computed, self.refusals, strict=False):
            if flag:
                raise ModelError(why)
        rest = iter(computed[len(self.refusals) :])
        leaves = [leaf.data.copy() if isinstance(leaf, Constant) else next(rest) for leaf in self.leaves]
        return [filled(structure, leaves) for structure in self.structure]


def _tellers(params: Sequence[Var], given: Sequence[Var]) -> list[Var]:
    """The parameters that a program takes for their shapes alone: those that tell a dim which the given do not."""
    told = {dim for var in given for dim in _dims(var)}
    found: list[Var] = []
    for var in params:
        own = _dims(var)
        if not told.issuperset(own):
            told.update(own)
            found.append(var)
    return found


def _dims(var: Var) -> list[Dim]:
    kind = var.checked_type
    return [dim for dim in kind.shape if not isinstance(dim, int)] if isinstance(kind, TensorType) else []


class _Check:
    """A probe with the program that computes it, compiled when it is first needed."""

    def __init__(self, probe: Probe, target: Target | None, state: State) -> None:
        self.probe = probe
        self.target = target
        self.state = state
        self.executable: Executable | None = None
        self.inputs = free_vars(probe.expr)

    def value(self, values: Mapping[Var, np.ndarray]) -> np.ndarray:
        """The value of the probe for these inputs."""
        if isinstance(self.probe.expr, Var):
            return values[self.probe.expr]
        if self.executable is None:
            function = Function(tuple(self.inputs), self.probe.expr)
            self.executable = _built(function, self.target, self.state)
        found = self.executable.run([values[var] for var in self.inputs])
        assert isinstance(found, np.ndarray)
        return found


def _built(function: Function, target: Target | None, state: State) -> Executable:
    """The compiled function. Raises ModelError where it cannot be compiled, or needs more memory than is allowed."""
    try:
        found = build_program(state.program(function), target=target)
    except OpgenError as error:
        raise_defect(error)
        raise ModelError(f"the model's program cannot be compiled: {said(error)}") from error
    if found.plan is not None:
        state.budget.program(found.plan.memory)
    return found


def key_of(value: object) -> object:
    if isinstance(value, list):
        return tuple([key_of(item) for item in value])
    if isinstance(value, Texts):
        return (value.array.shape, *value.array.flat)
    if isinstance(value, NarrowArray):
        return (value.kind, value.array.shape)
    return (value.dtype, value.shape) if isinstance(value, np.ndarray) else None


def flat(value: object) -> Iterator[np.ndarray]:
    if isinstance(value, list):
        for item in value:
            yield from flat(item)
    elif isinstance(value, NarrowArray):
        yield from flat(value.array)
    elif isinstance(value, np.ndarray):
        yield value if value.flags.c_contiguous else np.ascontiguousarray(value)
