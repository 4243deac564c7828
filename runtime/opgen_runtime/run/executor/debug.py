"""The debug executor: op by op, each tensor expression evaluated by numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...ir import Expr, IRModule, Var
from ...ir.loops import lifted
from ...transform import infer_type
from ..compile.interpret import Arrays, concrete_types, run_op_by_op
from .base import Executor


class DebugExecutor(Executor):
    """Runs op by op, without LLVM; a second opinion on what the graph executor computes."""

    kind = "debug"

    def run(self, expr: Expr, arrays: Mapping[Var, np.ndarray], module: IRModule | None) -> Arrays:
        if module is None:
            infer_type(expr, concrete_types(arrays))  # type errors come before anything runs
        expr, loops = lifted(expr, () if module is None else module)
        if loops:
            module = (module or IRModule()).with_functions(loops)
        return _own(run_op_by_op(expr, arrays, module), list(arrays.values()))


def _own(result: Arrays, inputs: Sequence[np.ndarray]) -> Arrays:
    """The result in memory of its own: what is an argument, a constant or a view is copied."""
    if isinstance(result, tuple):
        return tuple([_own(part, inputs) for part in result])
    own = result.flags.writeable and not any([np.may_share_memory(result, given) for given in inputs])
    return result if own else result.copy()
