"""`jit`: a Python function of arrays, traced through the ops that it calls and compiled.

    f = jit(lambda a, b, c: ops.tanh(a * b + c) * ops.sigmoid(a))
    f(x, y, z)

The function runs once for each combination of shapes and dtypes, on tracers (`tracer.py`), which have the face of
numpy's arrays; what it builds is optimised and compiled, elementwise chains into one kernel.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypeVar, overload

import numpy as np

from ....base import Target
from ....base.errors import CallError
from ....base.forks import importing
from ....base.lru_cache import Footprint
from ....base.vocabulary import FLOAT64
from ....ir import (
    Expr,
    Function,
    IRModule,
    Traced,
    Tuple,
    TupleGetItem,
    admissible,
    free_vars,
    is_literal,
    literal_array,
)
from ....operator import TupleType
from ....transform.states import is_appended
from ...executor import (
    Entry,
    Executable,
    Growing,
    Specialisations,
    Stateful,
    VectorcallObject,
    build_program,
    donations_of,
    entered,
    stateful,
)
from .arguments import Parameters, holds_tracer, key_of, static_key, with_faces
from .operands import tensor

if TYPE_CHECKING:
    from ...executor import Profile

P = ParamSpec("P")
R = TypeVar("R")
_tracing: Final[ContextVar[bool]] = ContextVar("opgen_tracing", default=False)
"""Whether a program is being traced."""


class Jitted(VectorcallObject, Generic[P, R]):
    """A function of arrays that is compiled for each signature it is called with.

    What is compiled is kept, within the bound of all that a process compiles (`run/compile/specialisations.py`).
    """

    def __init__(
        self,
        function: Callable[P, R],
        target: Target | None = None,
        static_argnums: Iterable[int] = (),
        static_argnames: Iterable[str] = (),
        donate: Iterable[int | str] = (),
    ) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self.target = target
        self._names = _parameter_names(function)
        self._static_positions, self._static_names = _static(self._names, static_argnums, static_argnames)
        given = list(donate)
        self._donated_positions, self._donated_names = _static(
            self._names, [k for k in given if isinstance(k, int)], [k for k in given if isinstance(k, str)]
        )
        self._compiled: Specialisations[_Compiled] = Specialisations()
        self._entry: Entry | None = None  # of the signature of arrays alone that was called last
        self._trampoline = entered(self, has_out=False)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The result as arrays, in the tuples, lists and dicts in which the function gives it.

        Raises CallError for what is no argument or result, or where Python needs the value of a traced one; and what
        the ops' type relations raise.
        """
        entry = self._entry
        if entry is not None and self._trampoline is None and not kwargs:
            entered = entry.new(*args)
            if entered is not NotImplemented:
                return entered
        leaves: list[Any] = []
        key: object = tuple([self._key(k, arg, leaves) for k, arg in enumerate(args)])
        if kwargs:
            key = (key, tuple([(name, self._key(name, value, leaves)) for name, value in kwargs.items()]))
        if any([leaf is None for leaf in leaves]):
            return self._inlined(args, kwargs)
        found = self._compiled.get(key)
        if found is None:
            found = self._compiled.made(key, lambda: self._program(args, kwargs))
            if found is None:
                return self.__wrapped__(*args, **kwargs)
        elif found.as_compiled and found.plain and not kwargs and _same(leaves, args):
            self._entry = found.executable.entry()
            if self._trampoline is not None:
                self._trampoline.use(self._entry)
        return found.run(leaves)

    def _program(self, args: Sequence[object], kwargs: dict[str, object]) -> _Compiled | None:
        """The program for the arguments; None where it reads values of the program that is being traced around."""
        function, shape, parameters = self._trace(args, kwargs)
        if _tracing.get() and free_vars(function):
            return None
        return _Compiled(self._built(function, parameters), shape, parameters)

    def __reduce__(self) -> str | tuple[object, ...]:
        """Pickled by its name, or that of its function; what it has compiled is found in the cache of objects."""
        function = self.__wrapped__
        if _found(function.__module__, function.__qualname__) is self:
            return function.__qualname__
        static, donated = (
            (sorted(self._static_positions), sorted(self._static_names)),
            [*sorted(self._donated_positions), *sorted(self._donated_names)],
        )
        return _jitted, (function, self.target, *static, donated)

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Function:
        """The program that the function builds for arguments of these types, before any optimisation."""
        return self._trace(args, kwargs)[0]

    def parts(
        self, *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Function, list[Any], Callable[[Iterable[Any]], Any]]:
        """The program; what it takes of the arguments, one a parameter; and what gives its results their structure."""
        leaves: list[Any] = []
        named: list[tuple[int | str, object]] = [*enumerate(args), *kwargs.items()]
        for place, value in named:
            self._key(place, value, leaves)
        function, shape, parameters = self._trace(args, kwargs)
        taken = [leaves[k] if d is None else literal_array(leaves[k], d) for k, d in parameters.given]
        return function, taken, lambda results: _shaped(shape, iter(results))

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """What the function is compiled to for arguments of these types: see `Executable.explain`."""
        return self._made(args, kwargs)[0].executable.explain()

    def profile(self, *args: P.args, **kwargs: P.kwargs) -> Profile:
        """What each kernel costs in ten runs on the arguments: see `Executable.profile`."""
        found, leaves = self._made(args, kwargs)
        if not isinstance(found.executable, Executable):
            raise CallError("a function of states is not profiled: each run would make them longer")
        return found.executable.profile(found.arrays(leaves))

    def _made(self, args: Sequence[object], kwargs: dict[str, object]) -> tuple[_Compiled, list[Any]]:
        """The program for the arguments, compiled anew, and the arrays that it takes of them."""
        leaves: list[Any] = []
        named: list[tuple[int | str, object]] = [*enumerate(args), *kwargs.items()]
        for place, value in named:
            self._key(place, value, leaves)
        if any([leaf is None for leaf in leaves]):
            raise CallError("a function is explained for arrays and numbers, not for values of a program")
        function, shape, parameters = self._trace(args, kwargs)
        return _Compiled(self._built(function, parameters), shape, parameters), leaves

    def _built(self, function: Function, parameters: Parameters) -> Executable | Stateful:
        """The program of a traced function.

        Raises CallError for a state that is not given back with more behind it, ExecutorError for a donated argument
        that no result can take the memory of.
        """
        if not parameters.growing:
            donations = donations_of(function, parameters.donated)
            return build_program(function, target=self.target, donations=donations)
        if parameters.donated:
            raise CallError(
                "a function of states has the memory of these alone; nothing can be donated to it"
            )
        growing = _grown(function, parameters.growing)
        return stateful(function, growing, parameters.capacity, self.target)

    def _key(self, place: int | str, value: object, leaves: list[Any]) -> object:
        if place in self._static_positions or place in self._static_names:
            return static_key(value)
        return key_of(value, leaves)

    def _trace(self, args: Sequence[object], kwargs: dict[str, object]) -> tuple[Function, Any, Parameters]:
        parameters = Parameters()
        names = [*self._names, *[f"arg{k}" for k in range(len(self._names), len(args))]]
        traced = [
            arg
            if k in self._static_positions
            else parameters.stand_in(arg, name, k in self._donated_positions)
            for k, (arg, name) in enumerate(zip(args, names, strict=False))
        ]
        named = {
            name: value
            if name in self._static_names
            else parameters.stand_in(value, name, name in self._donated_names)
            for name, value in kwargs.items()
        }
        token = _tracing.set(True)
        try:
            result = self.__wrapped__(*traced, **named)  # type: ignore[arg-type]  # tracers stand for the arrays
        finally:
            _tracing.reset(token)
        results: list[Expr] = []
        shape = _collect(result, results)
        body = results[0] if shape is None else _tuple(results)
        return Function(tuple(parameters.params), body), shape, parameters

    def _inlined(self, args: Sequence[object], kwargs: dict[str, object]) -> Any:
        """Called on values of a program that is being built: a part of it."""
        inside = holds_tracer([args, kwargs])
        result = self.__wrapped__(*with_faces(args), **with_faces(kwargs))
        return result if inside else _exprs(result)


class _Compiled:
    """A program with the structure of its result; `given`: the leaf of each parameter, with a float's dtype.

    `as_compiled`: the result is what the program gives, one array or a tuple of arrays.  `plain`: the program takes
    all leaves as they are.
    """

    __slots__ = ("as_compiled", "executable", "given", "plain", "shape")

    def __init__(self, executable: Executable | Stateful, shape: Any, parameters: Parameters) -> None:
        self.executable = executable
        self.shape = shape
        self.given = parameters.given
        flat = isinstance(shape, tuple) and bool(shape) and all([part is None for part in shape])
        self.as_compiled = shape is None or flat
        self.plain = self.given == [(k, None) for k in range(parameters.leaves)]

    def footprint(self) -> Footprint:
        """The memory of the program."""
        return self.executable.footprint()

    def arrays(self, leaves: list[Any]) -> list[Any]:
        """What the program takes of the leaves of the arguments."""
        return [leaves[k] if d is None else literal_array(leaves[k], d) for k, d in self.given]

    def run(self, leaves: list[Any]) -> Any:
        result = self.executable.run(leaves if self.plain else self.arrays(leaves))
        if self.shape is None:
            return result
        return _shaped(self.shape, iter(result if isinstance(result, tuple) else (result,)))  # type: ignore[arg-type]  # tensors


@overload
def jit(function: IRModule | Function, target: Target | str | None = None) -> Jitted[..., Any]: ...
@overload
def jit(
    function: Callable[P, R],
    target: Target | str | None = None,
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate: int | str | Iterable[int | str] = (),
) -> Jitted[P, R]: ...
@overload
def jit(
    function: None = None,
    target: Target | str | None = None,
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate: int | str | Iterable[int | str] = (),
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
def jit(
    function: Callable[P, R] | IRModule | Function | None = None,
    target: Target | str | None = None,
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate: int | str | Iterable[int | str] = (),
) -> Any:
    """`function`, compiled for each signature it is called with; a decorator, too, with or without options.

    A module of the IR is a function, too, its main: inside other functions it is a part of the program.

    Inside, arguments are tracers, which take numpy's operators, methods and functions and the ops of
    `opgen_runtime.ops`, and have numpy's shapes and dtypes:

        arrays          of numpy, or of others with `__dlpack__`, `__array_interface__` or `__array__`: tracers
        floats          weak tracers: values that are given when the program runs and take the dtype of what they meet;
                        another value compiles nothing
        ints, bools, texts, None, dtypes, enums, slices
                        as they are: Python may use them for axes, shapes, `if`; each value is compiled for itself
        states          `opgen_runtime.State`: tensors whose extent along the state's axis is an open dim, for which
                        there is one program; each must be given back as `concatenate((state, more), axis)`, and is
                        appended to in place
        tuples, lists, dicts
                        of these

    Arguments that `static_argnums` or `static_argnames` name are as they are, too, whatever they are, if they have a
    hash: a float that decides the program, a function.  Results are tensors, numbers, and tuples, lists and dicts of
    them.

    `donate`: arguments, by position or name, that may be overwritten: the first result of the type of each of their
    arrays takes the memory of that, and is that array.  A call refuses such an array that is no plain one of numpy, is
    read-only, not contiguous, a view of memory that another owns, or has memory that another argument has, too
    (ExecutorError).

    Raises CallError for a name that is no parameter's.
    """
    positions = [static_argnums] if isinstance(static_argnums, int) else list(static_argnums)
    names = [static_argnames] if isinstance(static_argnames, str) else list(static_argnames)
    donated = [donate] if isinstance(donate, int | str) else list(donate)
    chosen = Target.parse(target) if isinstance(target, str) else target
    if function is None:
        return lambda function: Jitted(function, chosen, positions, names, donated)
    if isinstance(function, IRModule | Function):
        with importing:  # few programs are functions of others
            from .programs import as_function

        function = as_function(function)
    return Jitted(function, chosen, positions, names, donated)


def _parameter_names(function: Callable[..., object]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _static(
    names: Sequence[str], positions: Iterable[int], named: Iterable[str]
) -> tuple[frozenset[int], frozenset[str]]:
    """The static parameters, by position and by name alike."""
    at = {position % len(names) if position < 0 and names else position for position in positions}
    called = {*named, *[names[k] for k in at if k < len(names)]}
    return frozenset({*at, *[k for k, name in enumerate(names) if name in called]}), frozenset(called)


def _collect(result: object, results: list[Expr]) -> Any:
    """The tensors of a traced result, and its structure: None for one tensor, else a tuple, list or dict of those."""
    if isinstance(result, list):
        return [_collect(item, results) for item in result]
    if isinstance(result, tuple):
        return tuple([_collect(item, results) for item in result])
    if isinstance(result, dict):
        return {name: _collect(item, results) for name, item in result.items()}
    if isinstance(result, Expr) and isinstance(result.checked_type, TupleType):
        return tuple([_collect(item, results) for item in result])
    if isinstance(result, Traced):
        results.append(result.typed(FLOAT64) if result.weak else result.expr)
    elif isinstance(result, Expr):
        results.append(result)
    elif is_literal(result) or admissible(result):
        results.append(tensor(result).expr)
    else:
        raise CallError(
            f"a compiled function gives tensors, or tuples, lists and dicts of them, found {type(result).__name__}"
        )
    return None


def _tuple(results: Sequence[Expr]) -> Expr:
    """The tensors as a tuple; all of one call's results in order are the call itself."""
    first = results[0] if results else None
    if isinstance(first, TupleGetItem) and isinstance(first.tuple_value.checked_type, TupleType):
        whole = first.tuple_value
        own = [r for r in results if isinstance(r, TupleGetItem) and r.tuple_value is whole]
        fields = first.tuple_value.checked_type.fields
        if len(own) == len(results) == len(fields) and [r.index for r in own] == list(range(len(fields))):
            return whole
    return Tuple(tuple(results))


def _grown(function: Function, params: Sequence[int]) -> list[Growing]:
    """The results into which parameters grow.  Raises CallError for one that grows into none."""
    results = function.body.fields if isinstance(function.body, Tuple) else (function.body,)
    found: list[Growing] = []
    for param in params:
        var = function.params[param]
        into = [k for k, result in enumerate(results) if is_appended(var, result)]
        if len(into) != 1:
            raise CallError(
                f"the state {var.name_hint} must be given back once, as concatenate((state, more), axis); "
                f"found in {len(into)} results"
            )
        found.append(Growing(param, into[0]))
    return found


def _exprs(result: Any) -> Any:
    if isinstance(result, tuple | list):
        return tuple([_exprs(item) for item in result])
    if isinstance(result, dict):
        return {name: _exprs(item) for name, item in result.items()}
    return result.expr if isinstance(result, Traced) else result


def _same(leaves: Sequence[object], args: Sequence[object]) -> bool:
    """Whether the arguments are arrays and nothing else."""
    return len(leaves) == len(args) and all(leaf is arg for leaf, arg in zip(leaves, args, strict=True))


def _shaped(shape: Any, leaves: Iterator[np.ndarray]) -> Any:
    """The arrays in the structure of the traced result."""
    if shape is None:
        return next(leaves)
    if isinstance(shape, dict):
        return {name: _shaped(part, leaves) for name, part in shape.items()}
    return type(shape)([_shaped(part, leaves) for part in shape])


def _jitted(
    function: Callable[..., object],
    target: Target | None,
    positions: Sequence[int],
    names: Sequence[str],
    donated: Sequence[int | str],
) -> Jitted[..., object]:
    return Jitted(function, target, positions, names, donated)


def _found(module: str, name: str) -> object:
    """What a module calls by a name with dots, None where there is nothing."""
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
