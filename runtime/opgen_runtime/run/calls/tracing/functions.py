"""numpy's functions on tracers: `__array_function__`, and the table that the mapping modules fill."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from ....base.errors import CallError
from .tracer import Tracer

F = TypeVar("F", bound=Callable[..., Any])
FUNCTIONS: Final[dict[object, Callable[..., Any]]] = {}
"""numpy's function -> ours, whose parameters are those of numpy's that it takes, under the same names."""
METHODS: Final[dict[str, Callable[..., Any]]] = {}
"""Method of arrays -> function of the tracer and the method's arguments."""


def maps(*names: str, method: str = "") -> Callable[[F], F]:
    """Let a function be numpy's functions of these names (those that the installed numpy has), and a method."""

    def register(function: F) -> F:
        for name in names:
            found: Any = np
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is not None:
                FUNCTIONS[found] = function
        if method:
            METHODS[method] = without_defaults(method, function)
        return function

    return register


def array_function(
    self: Tracer,
    function: Callable[..., Any],
    types: Sequence[type],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """numpy's protocol `__array_function__`."""
    name = f"np.{getattr(function, '__name__', function)}"
    mapped = FUNCTIONS.get(function)
    if mapped is None:
        raise CallError(
            f"{name} is not there while a function is traced; ops of opgen_runtime.ops may compute it"
        )
    return without_defaults(name, mapped)(*args, **kwargs)


def without_defaults(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without options that say nothing (`out=None`); others that it does not take are refused by name."""
    signature = inspect.signature(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        kept = {
            option: value
            for option, value in kwargs.items()
            if option in signature.parameters or not (value is None or value is getattr(np, "_NoValue", None))
        }
        try:
            bound = signature.bind(*args, **kept)
        except TypeError as error:
            taken = str(signature.replace(return_annotation=inspect.Signature.empty)).replace("'", "")
            raise CallError(f"{name} while a function is traced takes {taken}: {error}") from None
        return function(*bound.args, **bound.kwargs)

    return call
