"""Programs of the IR as functions of traced values, so that they are parts of other programs and have gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....base.errors import CallError, did_you_mean
from ....ir import Call, Function, IRModule
from ....transform import InferType
from ....transform.gradient import written_out
from .operands import tensor
from .tracer import wrap


def as_function(program: IRModule | Function) -> Callable[..., Any]:
    """The main of a module, or a function, on arrays and traced values; the loops of a module stay loops."""

    def main(*args: Any, **kwargs: Any) -> Any:
        module = InferType()(IRModule.from_expr(program) if isinstance(program, Function) else program)
        function = module["main"]
        given = _in_order(function, args, kwargs)
        return wrap(written_out(Call(function, tuple([tensor(arg).expr for arg in given])), module))

    return main


def _in_order(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """One argument a parameter.  Raises CallError for one that is missing, too much or of no parameter's name."""
    names = [param.name_hint for param in function.params]
    takes = f"main takes {len(names)} arguments, {', '.join([f'%{name}' for name in names])}"
    later = names[len(args) :]
    for name in kwargs:
        if later.count(name) != 1:
            known = "is given twice" if name in names else f"is no parameter{did_you_mean(name, names)}"
            raise CallError(f"{takes}; {name!r} {known}")
    if len(args) > len(names) or len(later) != len(kwargs):
        raise CallError(f"{takes}; found {len(args) + len(kwargs)}")
    return [*args, *[kwargs[name] for name in later]]
