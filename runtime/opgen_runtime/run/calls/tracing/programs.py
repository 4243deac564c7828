"""Programs of the IR as functions of traced values, so that they are parts of other programs and have gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....base.errors import CallError
from ....ir import Call, Function, IRModule
from ....transform import InferType
from ....transform.gradient import written_out
from .operands import tensor
from .tracer import wrap


def as_function(program: IRModule | Function) -> Callable[..., Any]:
    """The main of a module, or a function, on arrays and traced values; the loops of a module stay loops."""

    def main(*args: Any) -> Any:
        module = InferType()(IRModule.from_expr(program) if isinstance(program, Function) else program)
        function = module["main"]
        if len(args) != len(function.params):
            names = ", ".join([f"%{param.name_hint}" for param in function.params])
            raise CallError(f"main takes {len(function.params)} arguments, {names}; found {len(args)}")
        return wrap(written_out(Call(function, tuple([tensor(arg).expr for arg in args])), module))

    return main
