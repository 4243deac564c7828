"""What the executors have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from ...base.errors import ExecutorError
from ...ir import Expr, Function, GlobalVar, IRModule, Var, as_expr, free_vars
from ..compile.interpret import Arrays, Result, bind, check_value, wrap


class Executor(ABC):
    """Runs programs.  `module` holds the functions that programs may call by name."""

    kind: ClassVar[str]

    def __init__(self, module: IRModule | None = None) -> None:
        self.module = module

    @abstractmethod
    def run(self, expr: Expr, arrays: Mapping[Var, np.ndarray], module: IRModule | None) -> Arrays:
        """The value of `expr`, whose free variables all have arrays that fit their types."""

    def evaluate(
        self, expr: object = None, bindings: Mapping[Var, object] | None = None
    ) -> Result | Callable[..., Result]:
        """The value of `expr` where its free variables have the given arrays, constants or Python numbers.

        A function (or without `expr` the module's `main`) gives a Python callable that takes its arguments.

        Raises ExecutorError naming the variable, expected and found, before anything runs.
        """
        if expr is None:
            if self.module is None:
                raise ExecutorError(
                    "there is nothing to evaluate: neither an expression nor a module is given"
                )
            expr = self.module["main"]
        if isinstance(expr, GlobalVar):
            if self.module is None:
                raise ExecutorError(f"@{expr.name} is evaluated, but the executor has no module")
            expr = self.module[expr]
        if isinstance(expr, Function):
            return self._callable(expr, bindings or {})
        program = as_expr(expr)
        arrays, _ = bind(free_vars(program), bindings or {})
        return wrap(self.run(program, arrays, self.module))

    def _callable(self, function: Function, bindings: Mapping[Var, object]) -> Callable[..., Result]:
        outer = free_vars(function)

        def call(*args: object) -> Result:
            if len(args) != len(function.params):
                raise ExecutorError(
                    f"the function has {len(function.params)} parameters, found {len(args)} arguments"
                )
            values = {**bindings, **dict(zip(function.params, args, strict=True))}
            arrays, dims = bind([*outer, *function.params], values)
            result = self.run(function.body, arrays, self.module)
            check_value("the result", function.ret_type, result, dims)
            return wrap(result)

        return call
