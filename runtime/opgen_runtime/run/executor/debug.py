"""The debug executor: op by op, each tensor expression evaluated by numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...base.errors import ExecutorError
from ...ir import Call, Expr, Function, IRModule, Var
from ...transform import infer_type
from .base import Executor
from .bindings import concrete_types
from .interpreter import Closure, run
from .op_by_op import call_op
from .value import Arrays


class DebugExecutor(Executor):
    """Runs op by op, without LLVM; a second opinion on what the graph executor computes."""

    kind = "debug"

    def run(self, expr: Expr, arrays: Mapping[Var, np.ndarray], module: IRModule | None) -> Arrays:
        if module is None:
            infer_type(expr, concrete_types(arrays))  # type errors come before anything runs
        result = run(expr, arrays, _OpByOp(module), module)
        if isinstance(result, Closure):
            raise ExecutorError("the program gives a function; executors give tensors")
        return _own(result, list(arrays.values()))


def _own(result: Arrays, inputs: Sequence[np.ndarray]) -> Arrays:
    """The result in memory of its own: what is an argument, a constant or a view is copied."""
    if isinstance(result, tuple):
        return tuple([_own(part, inputs) for part in result])
    own = result.flags.writeable and not any([np.may_share_memory(result, given) for given in inputs])
    return result if own else result.copy()


class _OpByOp:
    def __init__(self, module: IRModule | None) -> None:
        self.module = module

    def run_op(self, call: Call, args: Sequence[Arrays]) -> Arrays:
        return call_op(call, args)

    def run_segment(self, function: Function, args: Sequence[Arrays]) -> Arrays:
        result = run(function.body, dict(zip(function.params, args, strict=True)), self, self.module)
        return result  # type: ignore[return-value]  # a segment gives tensors
