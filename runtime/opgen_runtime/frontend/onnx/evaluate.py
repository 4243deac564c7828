"""Values of expressions while a model is converted: constants, and what the inputs of a call decide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...ir import Var
from ...operator import Type
from ...run.executor import CompilingEvaluator
from .limits import Budget


class Evaluator(CompilingEvaluator):
    """The runtime's evaluator, within a budget."""

    def __init__(self, arrays: Mapping[Var, np.ndarray], budget: Budget) -> None:
        super().__init__(arrays)
        self.budget = budget

    def will_make(self, kind: Type) -> None:
        self.budget.made(kind)
