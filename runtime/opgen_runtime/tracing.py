"""`jit`: a Python function of arrays, traced through the ops that it calls and compiled.

    f = jit(lambda a, b, c: ops.tanh(a * b + c) * ops.sigmoid(a))
    f(x, y, z)

The function runs once for each combination of shapes and dtypes, on typed variables; what it builds is optimised and
compiled, elementwise chains into one kernel.  Arguments are arrays, or tuples, lists and dicts of them; Python numbers
are constants of the program, weak as everywhere, and part of the combination.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from .errors import CallError
from .executor import Entry, Executable, Value, array_type, build
from .ir import Constant, Expr, Function, Tuple, Var, as_expr, is_literal
from .target import Target

P = ParamSpec("P")
R = TypeVar("R")


class Jitted(Generic[P, R]):
    """A function of arrays that is compiled for each signature it is called with."""

    def __init__(self, function: Callable[P, R], target: Target | None = None) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self.target = target
        self._names = _parameter_names(function)
        self._compiled: dict[object, tuple[Executable, Any]] = {}
        self._entry: Entry | None = None  # of the signature of arrays alone that was called last

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The result as arrays, in the tuples in which the function gives it.

        Raises CallError for an argument or a result that is no array, and what the ops' type relations raise.
        """
        entry = self._entry
        if entry is not None and not kwargs:
            entered = entry.new(*args)
            if entered is not NotImplemented:
                return entered
        leaves: list[np.ndarray] = []
        key: object = tuple([_key(arg, leaves) for arg in args])
        if kwargs:
            key = (key, tuple([(name, _key(value, leaves)) for name, value in kwargs.items()]))
        if any([leaf is None for leaf in leaves]):
            return self.__wrapped__(
                *args, **kwargs
            )  # called while another function is traced: part of its program
        found = self._compiled.get(key)
        if found is None:
            function, shape = self._trace(args, kwargs)
            found = self._compiled[key] = (build(function, self.target), shape)
        elif found[1] is None and not kwargs and _same(leaves, args):
            self._entry = found[0].entry()
        executable, shape = found
        result = executable.run(leaves)
        return (
            result
            if shape is None
            else _shaped(shape, iter(result if isinstance(result, tuple) else (result,)))
        )

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Function:
        """The program that the function builds for arguments of these types, before any optimisation."""
        return self._trace(args, kwargs)[0]

    def _trace(self, args: Sequence[object], kwargs: dict[str, object]) -> tuple[Function, Any]:
        params: list[Var] = []
        names = [*self._names, *[f"arg{k}" for k in range(len(self._names), len(args))]]
        traced = [_traced(arg, name, params) for arg, name in zip(args, names, strict=False)]
        named = {name: _traced(value, name, params) for name, value in kwargs.items()}
        result = self.__wrapped__(*traced, **named)  # type: ignore[arg-type]  # variables stand for the arrays
        results: list[Expr] = []
        shape = _collect(result, results)
        body = results[0] if shape is None else Tuple(tuple(results))
        return Function(tuple(params), body), shape


def jit(function: Callable[P, R], target: Target | str | None = None) -> Jitted[P, R]:
    """`function`, compiled for each signature it is called with. It may also be used as a decorator."""
    return Jitted(function, Target.parse(target) if isinstance(target, str) else target)


def _parameter_names(function: Callable[..., object]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _key(value: object, leaves: list[Any]) -> object:
    """What of an argument decides the program; its arrays go to `leaves`, None for an expression."""
    if type(value) is np.ndarray and value.dtype.isnative:
        leaves.append(value)
        return value.dtype, value.shape
    if is_literal(value):
        return type(value), repr(value)
    if isinstance(value, tuple | list):
        return tuple, *[_key(item, leaves) for item in value]
    if isinstance(value, dict):
        return dict, *[(name, _key(item, leaves)) for name, item in value.items()]
    if isinstance(value, Expr) and not isinstance(value, Constant):
        leaves.append(None)
        return None
    array = _array(value)
    leaves.append(array)
    return array.dtype, array.shape


def _array(value: object) -> np.ndarray:
    if isinstance(value, Constant):
        return value.data
    if not isinstance(value, np.ndarray | np.generic | Value):
        raise CallError(f"a compiled function takes arrays and numbers, found {type(value).__name__}")
    array = np.asarray(value)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _traced(value: object, name: str, params: list[Var]) -> object:
    """The argument with variables for its arrays, in the order of `_key`."""
    if is_literal(value):
        return value
    if isinstance(value, tuple | list):
        return tuple([_traced(item, f"{name}{k}", params) for k, item in enumerate(value)])
    if isinstance(value, dict):
        return {key: _traced(item, str(key), params) for key, item in value.items()}
    params.append(Var(name, array_type(_array(value))))
    return params[-1]


def _collect(result: object, results: list[Expr]) -> Any:
    """The tensors of a traced result, and its structure: None for one tensor, else a tuple of structures."""
    if isinstance(result, tuple | list):
        return tuple([_collect(item, results) for item in result])
    if not isinstance(result, Expr | np.ndarray | np.generic | bool | int | float):
        raise CallError(f"a compiled function gives tensors or tuples of them, found {type(result).__name__}")
    results.append(as_expr(result))
    return None


def _same(leaves: Sequence[object], args: Sequence[object]) -> bool:
    """Whether the arguments are arrays and nothing else."""
    return len(leaves) == len(args) and all(leaf is arg for leaf, arg in zip(leaves, args, strict=True))


def _shaped(shape: Any, leaves: Any) -> Any:
    """The arrays in the structure of the traced result."""
    return next(leaves) if shape is None else tuple([_shaped(part, leaves) for part in shape])
