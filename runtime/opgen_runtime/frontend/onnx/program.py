"""Programs that are specialised at call time and kept: by the types of the inputs, and by values that decide.

What is found in the cache of programs runs without the front end, which is imported when something else is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from ...base import Target
from ...base.contract import defects_are_raised, raise_defect
from ...base.errors import OpgenError
from ...base.forks import importing
from ...base.lazy import lazy
from ...base.lru_cache import Footprint
from ...base.vocabulary import DType
from ...run.executor import LEAST, Entry, Specialisations, most_bytes
from .allowed import DEFAULT_LIMITS, Limits
from .direct import Loaded
from .errors import ModelError, said
from .model_cache import CompiledModels
from .open_programs import OpenPrograms

if TYPE_CHECKING:
    from ...operator import TensorType
    from .decode import ModelLike
    from .graph import Model
    from .signature import Signature
    from .specialised import Specialisation
    from .stateful import StatefulProgram

_DEFECTS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
_MAX_PROGRAMS: Final = 64  # programs of one signature, which a call tries one after the other
_ALL_SIZES: Final = "all sizes"  # the key under which the program for them is made


class _Known(tuple["Specialisation | Loaded", ...]):
    """The specialisations of one signature, the oldest first."""

    __slots__ = ()

    def followed_by(self, found: Specialisation | Loaded) -> _Known:
        """With one more, and without the oldest where they become too many, or larger than all programs may be."""
        made = [*self, found][-_MAX_PROGRAMS:]
        while len(made) > LEAST and sum(dict(_Known(made).footprint()).values()) > most_bytes():
            del made[0]
        return _Known(made)

    def footprint(self) -> Footprint:
        """The memory of the programs."""
        for each in self:
            yield from each.footprint()


class Program:
    """A model as a callable on arrays; what it compiles is kept.

    Inputs are given in the graph's order, or by name; outputs are a list in the graph's order.
    """

    def __init__(
        self, model: ModelLike, target: Target | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        """Raises ModelError, and UnsupportedOperatorError, listing every operator of the model without a mapping."""
        self.target = target
        self.limits = limits
        self._compiled: Specialisations[_Known] = Specialisations()  # by the types of the inputs
        self._first: object = None  # types of inputs
        self._entry: Entry | None = (
            None  # of the types that came last, where the inputs are all that it takes
        )
        self._cache = CompiledModels(model, target, limits)
        if self._cache.facts is None:
            self._cache.remember(self.model, self.signature, self._why_closed())
        facts = self._cache.facts
        self._names: tuple[str, ...] = self.signature.names if facts is None else facts.names
        why_not = self._why_closed() if facts is None else facts.why_not_open
        self._open = OpenPrograms(why_not, limits.memory)

    @property
    def why_not_open(self) -> str | None:
        """Why there is no program for all sizes, as far as that is known; None where there may be one."""
        return self._open.why_not

    @lazy
    def model(self) -> Model:
        """The model, which keeps the rules, and all of whose operators have a mapping."""
        with importing:
            from .check import checked_model
            from .supported import check_supported
        found = checked_model(self._cache.model(), self.limits)
        check_supported(found)
        return found

    @lazy
    def signature(self) -> Signature:
        """What the model takes and gives."""
        with importing:
            from .signature import signature_of
        return signature_of(self.model)

    def __call__(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
        """The outputs for the inputs. Raises ModelError for inputs that do not fit, UnsupportedOperatorError."""
        try:
            entry = self._entry
            if entry is not None and (type(inputs) is list or type(inputs) is tuple):
                found = entry.new(*inputs)
                if found is not NotImplemented:
                    return list(found) if type(found) is tuple else [found]
            if type(inputs) is dict:
                ordered = self._in_order(inputs)
                if ordered is not None:
                    return self(ordered)
            arrays = self._arrays(inputs)
            if arrays is not None:
                key = tuple([(array.dtype, array.shape) for array in arrays])  # that of `key_of`
                result = self._kept(key, arrays)
                if result is None:
                    result = self._run_open(arrays)
                if result is None:
                    result = self._compiled_models(key, arrays)
                if result is not None:
                    return result
            return self._made(self.signature.bind(inputs))
        except MemoryError as error:
            raise ModelError(f"there is not enough memory to run the model: {error}") from error

    def _in_order(self, inputs: dict[str, Any]) -> list[Any] | None:
        """The inputs by position, if all of them are there and nothing else."""
        if len(inputs) != len(self._names) or not all([name in inputs for name in self._names]):
            return None
        return [inputs[name] for name in self._names]

    def _arrays(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[np.ndarray] | None:
        """The inputs, if they are numpy's own arrays and as many as the model takes; in order in memory."""
        if not isinstance(inputs, list | tuple) or len(inputs) != len(self._names):
            return None
        if not all([type(array) is np.ndarray for array in inputs]):
            return None
        return [array if array.flags.c_contiguous else np.ascontiguousarray(array) for array in inputs]

    def _kept(self, key: object, arrays: list[np.ndarray]) -> list[Any] | None:
        """The outputs of a program that is kept for these types; None where there is none, or values say no."""
        for found in self._compiled.get(key) or ():
            result = found.run(arrays)
            if result is not None:
                self._entry = found.entry()
                return result
        return None

    def _run_open(self, arrays: list[np.ndarray]) -> list[Any] | None:
        """The outputs of a program for all sizes; None where there is none yet, and where it refuses the arrays.

        A call at sizes that come for the first time keeps nothing of its own: the program does.
        """
        found = self._open.run(arrays) if self._cache.takes(arrays) else None
        if found is None:
            return None
        program, result = found
        self._entry = program.entry()
        return result

    def _compiled_models(self, key: object, arrays: list[np.ndarray]) -> list[Any] | None:
        """The outputs of a program that another process has left in the cache; None where there is none.

        It is what `_made` would take: that of the first shapes, then one for all sizes or for each shape.
        """
        if not self._cache.takes(arrays):
            return None
        with self._compiled.making(key):
            known = self._compiled.get(key)
            if known is not None:
                return self._kept(key, arrays)
            found = self._loaded(arrays)
            if found is None:
                return None
            if self._first is None:
                self._first = key
            self._compiled.put(key, _Known((found,)))
        return found.run(arrays)

    def _loaded(self, arrays: list[np.ndarray]) -> Loaded | None:
        """The program in the cache of programs, for all sizes or these."""
        if self._first is not None and self._open.why_not is None:
            if self._open.may_grow:
                found, why_not = self._cache.found_open(arrays)
                if found is not None:
                    self._open.add(found)
                    return found if found.memory(arrays) <= self.limits.memory else None
                if why_not is not None:
                    self._open.refuse(why_not)
            if self._open.why_not is None:
                return None
        return self._cache.found(arrays)

    def _made(self, values: list[Any]) -> list[Any]:
        """The outputs of the specialisation that these inputs need; it is made where there is none."""
        with importing:
            from .specialised import flat, key_of
        arrays = list(flat(values))
        key = key_of(values)
        with self._compiled.making(key):
            known = self._compiled.get(key) or _Known()
            for each in known:
                result = each.run(arrays)
                if result is not None:
                    return result
            found, result = self._opened(key, values, arrays) or self._converted(values, arrays)
            self._compiled.put(key, known.followed_by(found))
        return result

    def _converted(self, values: list[Any], arrays: list[np.ndarray]) -> tuple[Specialisation, list[Any]]:
        """A program for the shapes at hand, with what it gives."""
        found = self._specialisation(values)
        result = found.first_result(arrays)
        self._cache.keep(found, values)
        return found, result

    def _specialisation(self, values: list[Any], kinds: Sequence[TensorType] | None = None) -> Specialisation:
        with importing:
            from .specialised import Specialisation
        return Specialisation(self.model, self.signature.names, values, self.target, self.limits, kinds)

    def _opened(
        self, key: object, values: list[Any], arrays: list[np.ndarray]
    ) -> tuple[Specialisation | Loaded, list[Any]] | None:
        """The program for all sizes with what it gives; it is made when shapes come that are not the first ones.

        None where there is none, and where it refuses these arrays: a program for their shapes says why.
        """
        if self._first is None:
            self._first = key
            return None
        found = self._open.run(arrays)
        if found is None and self._open.may_grow:
            with self._compiled.making(_ALL_SIZES):
                found = self._open.run(arrays)
                if found is None and self._open.may_grow:
                    self._make_open(values, arrays)
                    found = self._open.run(arrays)
        return found

    def _make_open(self, values: list[Any], arrays: list[np.ndarray]) -> None:
        """Make a program for all sizes, or find out why there is none."""
        why_not: str | None = None
        try:
            made = self._specialisation(values, self._open_types(arrays))
            why_not = made.why_interpreted
            if why_not is None:
                self._open.add(made)
                self._cache.keep(made, values, is_open=True)
        except OpgenError as error:
            raise_defect(error)
            why_not = said(error)
        except _DEFECTS as error:  # of the compiler: programs of one shape each serve the caller meanwhile
            if defects_are_raised():
                raise
            why_not = f"internal error: {type(error).__name__}: {error}"
        if why_not is not None:
            self._open.refuse(why_not)
            self._cache.keep_closed(values, why_not)

    def _why_closed(self) -> str | None:
        """Why the inputs alone say that there is no program for all sizes; None where there may be."""
        with importing:
            from .signature import TensorInput
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
        with importing:
            from .signature import open_types
        return open_types(self.signature, arrays)

    def explain(self) -> str:
        """How the model is compiled: for all sizes of its open dims, or for each shape, and why."""
        lines = [f"input {each}" for each in self.signature.inputs]
        if self._open.why_not is not None:
            lines.append(f"compiled for each combination of shapes: {self._open.why_not}")
        for number, program in enumerate(self._open):
            what = "all sizes" if number == 0 else "sizes that those before refuse"
            lines.append(f"shapes after the first have one program, for {what}:")
            lines.append("constants alone" if program.executable is None else program.executable.explain())
        if self._open.may_grow and not any(self._open):
            lines.append("a program for all sizes is made when shapes come that are not the first ones")
        lines.append(self._compiled.explain())
        return "\n".join(lines)


@overload
def prepare(
    model: ModelLike, target: Target | str | None = None, limits: Limits = DEFAULT_LIMITS
) -> Program: ...
@overload
def prepare(
    model: ModelLike,
    target: Target | str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    *,
    states: Mapping[str, str],
) -> StatefulProgram: ...
def prepare(
    model: ModelLike,
    target: Target | str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    *,
    states: Mapping[str, str] | None = None,
) -> Program | StatefulProgram:
    """A callable that takes the inputs (a sequence in the graph's order, or a mapping by name) and gives a list.

    It compiles for the shapes of the first call, then once for all sizes of dims that the model leaves open, where its
    operators allow that, else for each combination of shapes and of the values of shape-like inputs.
    What another process has compiled of the same model is taken from the cache.
    `states`: inputs that are `opgen_runtime.State`, each with the output that is the input joined with more behind it:
    that is appended in place, and the state is given back as the output.
    `model`: a `ModelProto`, its bytes, or the path of a file.  `limits`: what it may ask for.  Raises ModelError for a
    model that breaks a rule of ONNX, UnsupportedOperatorError with all nodes that have no mapping.
    """
    made = Program(model, Target.parse(target) if isinstance(target, str) else target, limits)
    if not states:
        return made
    with importing:
        from .stateful import StatefulProgram
    if made.why_not_open is not None:
        raise ModelError(f"a model with states needs a program for all sizes, and {made.why_not_open}")
    return StatefulProgram(made.model, made.signature, made.target, limits, states)


def run(model: ModelLike, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    """The outputs of a model, in the graph's order; `prepare` keeps what is compiled for further calls."""
    return prepare(model)(inputs)
