"""The debug executor: op by op, each tensor expression evaluated by numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..ir import Call, Expr, Function, IRModule, Var
from ..transform import infer_type
from .base import Executor
from .interpreter import run
from .op_by_op import call_op
from .value import Arrays


class DebugExecutor(Executor):
    """Runs op by op, without LLVM; a second opinion on what the graph executor computes."""

    kind = "debug"

    def run(self, expr: Expr, arrays: Mapping[Var, np.ndarray], module: IRModule | None) -> Arrays:
        result = run(infer_type(expr) if module is None else expr, arrays, _OpByOp(module), module)
        return result  # type: ignore[return-value]  # `evaluate` gives functions as callables


class _OpByOp:
    def __init__(self, module: IRModule | None) -> None:
        self.module = module

    def run_op(self, call: Call, args: Sequence[Arrays]) -> Arrays:
        return call_op(call, args)

    def run_segment(self, function: Function, args: Sequence[Arrays]) -> Arrays:
        result = run(function.body, dict(zip(function.params, args, strict=True)), self, self.module)
        return result  # type: ignore[return-value]  # a segment gives tensors
