"""How an op is computed and scheduled, said of one that is there: by its name, as a decorator or with a function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ....operator import DEFAULT_PLEVEL, origin_of, register_op_attr
from .generic import GenericFunction
from .library import schedule_named
from .op_strategy import OpStrategy


def register_compute(
    op_name: str, function: Callable[..., Any] | None = None, plevel: int = DEFAULT_PLEVEL
) -> Any:
    """The compute of an op that is registered by hand: `function(attrs, inputs, out_type)` gives its result tensors.

    A declared op keeps its own.  Raises RegistryError if there is no such op, or if it has a compute at this level from
    another file.
    """
    return register_op_attr(op_name, "FTVMCompute", function, plevel, origin_of(sys._getframe(1).f_globals))


def register_strategy(
    op_name: str, function: Callable[..., Any] | GenericFunction | None = None, plevel: int = DEFAULT_PLEVEL
) -> Any:
    """The strategy of an op: `function(attrs, inputs, out_type)`, or a generic function, gives an `OpStrategy`.

    Raises as `register_compute` does.
    """
    return register_op_attr(op_name, "strategy", function, plevel, origin_of(sys._getframe(1).f_globals))


def register_schedule(
    op_name: str, function: Callable[..., Any] | None = None, plevel: int = DEFAULT_PLEVEL
) -> Any:
    """The schedule of an op: `function(outputs, target)` gives the schedule of the program that computes outputs.

    Raises as `register_compute` does, and StrategyError for what is no function.
    """
    origin = origin_of(sys._getframe(1).f_globals)

    def add(given: Callable[..., Any]) -> Callable[..., Any]:
        strategy = OpStrategy().add_implementation(None, given, getattr(given, "__qualname__", op_name))
        strategy.add_default(schedule_named("generic"), "generic")
        register_op_attr(op_name, "strategy", strategy, plevel, origin)
        return given

    return add if function is None else add(function)


def generic_func(function: Callable[..., Any]) -> GenericFunction:
    """Decorator: the function is the default of a generic function of its name, `f(target, ...)`."""
    return GenericFunction(function.__qualname__, function, function.__doc__)
