"""Values of expressions while a model is converted: constants, and what the inputs of a call decide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...ir import Call, Expr, Function, GlobalVar, If, IRModule, Var
from ...operator import Type
from ...run.executor import Arrays, CompilingEvaluator
from .limits import Budget


class Evaluator(CompilingEvaluator):
    """The runtime's evaluator, within a budget."""

    def __init__(self, arrays: Mapping[Var, np.ndarray], budget: Budget) -> None:
        super().__init__(arrays)
        self.budget = budget
        self.functions: Mapping[GlobalVar, Function] = {}  # that expressions may call

    def will_make(self, kind: Type) -> None:
        self.budget.made(kind)

    def module(self, function: Function) -> IRModule:
        return IRModule({GlobalVar("main", function.checked_type): function, **self.functions})

    def _node(self, node: Expr) -> Arrays:
        if isinstance(node, GlobalVar):
            return ()
        if isinstance(node, If) or (isinstance(node, Call) and isinstance(node.op, GlobalVar)):
            return self.compiled(node)
        return super()._node(node)
