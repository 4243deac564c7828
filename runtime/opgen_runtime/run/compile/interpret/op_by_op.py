"""Ops on arrays through their tensor expressions and numpy: no schedule, no LLVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ....base.errors import ExecutorError
from ....declaration import evaluate_call
from ....ir import Call, Expr, Function, IRModule, Var
from .interpreter import Closure, run
from .value import Arrays


def run_op_by_op(expr: Expr, arrays: Mapping[Var, np.ndarray], module: IRModule | None = None) -> Arrays:
    """The value of `expr` where its free variables have `arrays`; what is shared is not copied."""
    result = run(expr, arrays, _OpByOp(module), module)
    if isinstance(result, Closure):
        raise ExecutorError("the program gives a function; executors give tensors")
    return result


class _OpByOp:
    def __init__(self, module: IRModule | None) -> None:
        self.module = module

    def run_op(self, call: Call, args: Sequence[Arrays]) -> Arrays:
        return evaluate_call(call, args)

    def run_segment(self, function: Function, args: Sequence[Arrays]) -> Arrays:
        result = run(function.body, dict(zip(function.params, args, strict=True)), self, self.module)
        return result  # type: ignore[return-value]  # a segment gives tensors
