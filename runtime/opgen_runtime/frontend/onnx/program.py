"""Programs that are specialised at call time and kept: by the types of the inputs, and by values that decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from ...base import Target
from ...base.errors import OpgenError
from ...base.kept import Kept
from ...ir import Constant, Expr, Function, Tuple, Var, free_vars
from ...operator import TensorType
from ...run.executor import Executable, array_type, build
from .check import checked_model
from .convert import Conversion
from .decode import ModelLike
from .errors import ModelError, said
from .graph import Model
from .limits import DEFAULT_LIMITS, Limits
from .narrow import Narrow, NarrowArray, NarrowType
from .signature import Signature, signature_of
from .state import Probe, State, Value, fresh_key
from .supported import check_supported
from .texts import Texts

_KEPT: Final = 64  # signatures, and specialisations of each: the oldest go
Structure: TypeAlias = "int | _Narrowed | Texts | list[Structure] | None"
"""Where the tensors of a result stand among all of them, in the lists of sequences; strings themselves."""


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """The tensor at a position, as an array of a narrow type."""

    position: int
    kind: NarrowType


class Program:
    """A model as a callable on arrays; what it compiles is kept.

    Inputs are given in the graph's order, or by name; outputs are a list in the graph's order.
    """

    def __init__(
        self, model: ModelLike, target: Target | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        """Raises ModelError, and UnsupportedOperatorError, listing every operator of the model without a mapping."""
        self.model = checked_model(Model(model), limits)
        self.target = target
        self.limits = limits
        check_supported(self.model)
        self.signature: Signature = signature_of(self.model)
        self._names = self.signature.names
        self._compiled: Kept[list[_Specialisation]] = Kept(_KEPT)  # by the types of the inputs
        self._direct: Kept[_Direct] = Kept(_KEPT)  # by the shapes of the inputs

    def __call__(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
        """The outputs for the inputs. Raises ModelError for inputs that do not fit, UnsupportedOperatorError."""
        try:
            arrays = self._arrays(inputs)
            if arrays is not None:
                direct = self._direct.get(tuple([array.shape for array in arrays]))
                if direct is not None and direct.takes(arrays):
                    return direct.run(arrays)
            return self._specialised(self.signature.bind(inputs))
        except MemoryError as error:
            raise ModelError(f"there is not enough memory to run the model: {error}") from error

    def _arrays(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[np.ndarray] | None:
        """The inputs in order, if they are numpy's own arrays and as many as the model takes."""
        if len(inputs) != len(self._names):
            return None
        arrays: list[Any]
        if type(inputs) is dict:
            arrays = [inputs.get(name) for name in self._names]
        elif isinstance(inputs, list | tuple):
            arrays = list(inputs)
        else:
            return None
        return arrays if all([type(array) is np.ndarray for array in arrays]) else None

    def _specialised(self, values: list[Any]) -> list[Any]:
        """The outputs of the specialisation that these inputs need; it is made where there is none."""
        arrays = list(_flat(values))
        key = _key(values)
        known = self._compiled.get(key) or self._compiled.put(key, [])
        for found in known:
            result = found.run(arrays)
            if result is not None:
                break
        else:
            found = _Specialisation(self.model, self._names, values, self.target, self.limits)
            known.append(found)
            del known[:-_KEPT]
            result = found.first_result(arrays)
        direct = found.direct() if all([isinstance(value, np.ndarray) for value in values]) else None
        if direct is not None:
            self._direct.put(tuple([array.shape for array in arrays]), direct)
        return result


class _Direct:
    """A specialisation that is one run of its executable on the inputs, if these are as `takes` says."""

    __slots__ = ("_dtypes", "_order", "_run")

    def __init__(self, executable: Executable, dtypes: Sequence[np.dtype[Any]], order: Sequence[int]) -> None:
        self._run = executable.run
        self._dtypes = tuple(dtypes)
        self._order = None if tuple(order) == tuple(range(len(dtypes))) else tuple(order)

    def takes(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether arrays of its shapes have its dtypes and lie in order in memory."""
        for array, dtype in zip(arrays, self._dtypes, strict=True):
            if array.dtype is not dtype or not array.flags.c_contiguous:
                return False
        return True

    def run(self, arrays: list[np.ndarray]) -> list[Any]:
        order = self._order
        found = self._run(arrays if order is None else [arrays[k] for k in order])
        return list(found) if isinstance(found, tuple) else [found]


class _Specialisation:
    """A model converted and compiled for the types of its inputs and for the values of its probes."""

    def __init__(
        self, model: Model, names: Sequence[str], values: Sequence[Any], target: Target | None, limits: Limits
    ) -> None:
        self.params: list[Var] = []
        given: dict[Var, np.ndarray] = {}
        inputs: dict[str, Value] = {
            name: self._parameter(name, v, given) for name, v in zip(names, values, strict=True)
        }
        state = State(given, limits)
        outputs = Conversion(model, inputs, state).outputs()
        self.random = state.random
        self.checks = [_Check(probe, target, state) for probe in state.probes]
        leaves: list[Expr] = []
        self.structure = [_structure(value, leaves) for value in outputs]
        self.leaves = leaves
        self.refusals = [why for _, why in state.refusals]
        self.computed = [flag for flag, _ in state.refusals]
        self.computed += [leaf for leaf in leaves if not isinstance(leaf, Constant)]
        self.executable: Executable | None = None
        self.inputs: list[Var] = []
        if self.computed:
            body = self.computed[0] if len(self.computed) == 1 else Tuple(tuple(self.computed))
            self.inputs = free_vars(body)
            self.executable = _built(Function(tuple(self.inputs), body), target, state)

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

    def direct(self) -> _Direct | None:
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
        types = [param.checked_type for param in self.params]
        dtypes = [each.dtype.numpy for each in types if isinstance(each, TensorType)]
        return _Direct(self.executable, dtypes, [self.params.index(var) for var in self.inputs])

    def run(self, arrays: Sequence[np.ndarray]) -> list[Any] | None:
        """The outputs; None if a value that the program was specialised on is another one now."""
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
        return [_filled(structure, leaves) for structure in self.structure]


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
        found = build(state.program(function), target=target)
    except OpgenError as error:
        raise ModelError(f"the model's program cannot be compiled: {said(error)}") from error
    if found.plan is not None:
        state.budget.program(found.plan.memory)
    return found


def _key(value: object) -> object:
    if isinstance(value, list):
        return tuple([_key(item) for item in value])
    if isinstance(value, Texts):
        return (value.array.shape, *value.array.flat)
    if isinstance(value, NarrowArray):
        return (value.kind, value.array.shape)
    return (value.dtype, value.shape) if isinstance(value, np.ndarray) else None


def _flat(value: object) -> Iterator[np.ndarray]:
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, NarrowArray):
        yield from _flat(value.array)
    elif isinstance(value, np.ndarray):
        yield value if value.flags.c_contiguous else np.ascontiguousarray(value)


def _structure(value: Value, leaves: list[Expr]) -> Structure:
    if value is None:
        return None
    if isinstance(value, list):
        return [_structure(item, leaves) for item in value]
    if isinstance(value, Texts):
        return value
    leaves.append(value.expr if isinstance(value, Narrow) else value)
    last = len(leaves) - 1
    return _Narrowed(last, value.kind) if isinstance(value, Narrow) else last


def _filled(structure: Structure, leaves: Sequence[np.ndarray]) -> Any:
    if structure is None:
        return None
    if isinstance(structure, list):
        return [_filled(item, leaves) for item in structure]
    if isinstance(structure, Texts):
        return structure.array.copy()
    if isinstance(structure, _Narrowed):
        return leaves[structure.position].astype(structure.kind.numpy)
    return leaves[structure]
