"""Programs that are specialised at call time and kept: by the types of the inputs, and by values that decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...base import Target
from ...base.errors import OpgenError
from ...base.kept import Kept
from ...base.vocabulary import DType
from ...ir import Constant, Expr, Function, Tuple, Var, free_vars
from ...operator import Dim, TensorType
from ...run.executor import Entry, Executable, array_type, build
from .check import checked_model
from .convert import Conversion
from .decode import ModelLike
from .errors import ModelError, said
from .graph import Model
from .limits import DEFAULT_LIMITS, Limits
from .narrow import Narrow, NarrowArray
from .signature import Signature, TensorInput, signature_of
from .state import Probe, State, Value, fresh_key
from .structure import filled, structure_of
from .supported import check_supported
from .texts import Texts

_KEPT: Final = 64  # signatures, and specialisations of each: the oldest go


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
        self._first: object = None  # types of inputs
        self._open: _Specialisation | None = None  # for all sizes of the inputs' dims
        self._why_not_open: str | None = self._why_closed()
        self._direct: Kept[_Direct] = Kept(_KEPT)  # by the shapes of the inputs
        self._entry: Entry | None = (
            None  # of the shapes that came last, where it takes the inputs as they come
        )

    def __call__(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
        """The outputs for the inputs. Raises ModelError for inputs that do not fit, UnsupportedOperatorError."""
        try:
            entry = self._entry
            if entry is not None and (type(inputs) is list or type(inputs) is tuple):
                found = entry.new(*inputs)
                if found is not NotImplemented:
                    return list(found) if type(found) is tuple else [found]
            arrays = self._arrays(inputs)
            if arrays is not None:
                direct = self._direct.get(tuple([array.shape for array in arrays]))
                if direct is not None and direct.takes(arrays):
                    self._entry = direct.entry()
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
            found, result = self._opened(key, values, arrays) or self._made(values, arrays)
            known.append(found)
            del known[:-_KEPT]
        direct = found.direct() if all([isinstance(value, np.ndarray) for value in values]) else None
        if direct is not None:
            self._direct.put(tuple([array.shape for array in arrays]), direct)
        return result

    def _made(self, values: list[Any], arrays: list[np.ndarray]) -> tuple[_Specialisation, list[Any]]:
        """A program for the shapes at hand, with what it gives."""
        found = _Specialisation(self.model, self._names, values, self.target, self.limits)
        return found, found.first_result(arrays)

    def _opened(
        self, key: object, values: list[Any], arrays: list[np.ndarray]
    ) -> tuple[_Specialisation, list[Any]] | None:
        """The program for all sizes with what it gives; it is made when shapes come that are not the first ones.

        None where there is none, and where it refuses these arrays: a program for their shapes says why.
        """
        if self._first is None:
            self._first = key
            return None
        if self._open is None and self._why_not_open is None:
            try:
                kinds = self._open_types(arrays)
                self._open = _Specialisation(self.model, self._names, values, self.target, self.limits, kinds)
                self._why_not_open = self._open.why_interpreted
            except OpgenError as error:
                self._why_not_open = said(error)
        if self._open is None or self._why_not_open is not None:
            return None
        try:
            self._open.check_memory(arrays)
            return self._open, self._open.first_result(arrays)
        except OpgenError:
            return None

    def _why_closed(self) -> str | None:
        """Why the inputs alone say that there is no program for all sizes; None where there may be."""
        for each in self.signature.inputs:
            if not isinstance(each, TensorInput) or not isinstance(each.dtype, DType):
                return f"input {each} is no tensor of numbers"
            if each.dims is None:
                return f"input {each.name!r} has no rank"
        if not any([isinstance(each, TensorInput) and each.is_open for each in self.signature.inputs]):
            return "all dims of its inputs are known"
        return None

    def _open_types(self, arrays: Sequence[np.ndarray]) -> list[TensorType]:
        """The types of the inputs with symbolic dims, to be scheduled for those of the arrays."""
        dims: dict[str, Dim] = {}
        found: list[TensorType] = []
        for each, array in zip(self.signature.inputs, arrays, strict=True):
            assert isinstance(each, TensorInput)
            assert isinstance(each.dtype, DType)
            found.append(each.open_type(each.dtype, dims, array.shape))
        return found

    def explain(self) -> str:
        """How the model is compiled: for all sizes of its open dims, or for each shape, and why."""
        lines = [f"input {each}" for each in self.signature.inputs]
        if self._open is not None and self._why_not_open is None:
            made = self._open.executable
            lines.append("shapes after the first have one program, for all sizes:")
            lines.append("constants alone" if made is None else made.explain())
        elif self._why_not_open is not None:
            lines.append(f"compiled for each combination of shapes: {self._why_not_open}")
        else:
            lines.append("a program for all sizes is made when shapes come that are not the first ones")
        return "\n".join(lines)


class _Direct:
    """A specialisation that is one run of its executable on the inputs, if these are as `takes` says."""

    __slots__ = ("_dtypes", "_executable", "_order", "_run")

    def __init__(self, executable: Executable, dtypes: Sequence[np.dtype[Any]], order: Sequence[int]) -> None:
        self._executable = executable
        self._run = executable.run
        self._dtypes = tuple(dtypes)
        self._order = None if tuple(order) == tuple(range(len(dtypes))) else tuple(order)

    def takes(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether arrays of its shapes have its dtypes and lie in order in memory."""
        for array, dtype in zip(arrays, self._dtypes, strict=True):
            if array.dtype is not dtype or not array.flags.c_contiguous:
                return False
        return True

    def entry(self) -> Entry | None:
        """Native functions of the inputs in their order, where the executable has some."""
        return self._executable.entry() if self._order is None else None

    def run(self, arrays: list[np.ndarray]) -> list[Any]:
        order = self._order
        found = self._run(arrays if order is None else [arrays[k] for k in order])
        return list(found) if isinstance(found, tuple) else [found]


class _Specialisation:
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
        self.budget = state.budget
        outputs = Conversion(model, inputs, state).outputs()
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

    @property
    def why_interpreted(self) -> str | None:
        """Why it is no native function; None where it is."""
        return None if self.executable is None else self.executable.why_interpreted

    def check_memory(self, arrays: Sequence[np.ndarray]) -> None:
        """Raises ModelError where results and what lies between kernels need more memory than is allowed."""
        if self.executable is not None:
            shapes = [arrays[self.params.index(var)].shape for var in self.inputs]
            self.budget.program(self.executable.memory(shapes) or 0)

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
        return [filled(structure, leaves) for structure in self.structure]


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
