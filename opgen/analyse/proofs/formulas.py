"""An op's value and its gradients as formulas: what one of its tests computes, in LaTeX."""

from __future__ import annotations

from collections.abc import Mapping

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.compute import te
from opgen_runtime.compute.te.latex import to_latex

from ...model import CheckedFormulas
from .trials import BoundSample, Trials


def formulas(trials: Trials, bound: BoundSample, kinds: Mapping[str, str], first: bool) -> CheckedFormulas:
    """Those of the call; `kinds`: how the adjoint of each float operand is computed, where `first` counts of ties."""
    if trials.assembled.compute is None or not trials.can_build(bound):
        return CheckedFormulas()
    adjoints = trials.adjoints(bound, first)
    value = to_latex(adjoints.results)
    if value is None:
        return CheckedFormulas()  # and what is longer still is not looked at
    gradients: dict[str, str | None] = {}
    for name, operand in zip(trials.names, adjoints.operands, strict=True):
        if kinds.get(name) not in ("gather", "update") or not isinstance(operand, te.Tensor):
            continue
        try:
            adjoint = adjoints.of(operand)
        except OpgenError:
            continue
        if adjoint is not None:
            made = te.Tensor(f"grad_{name}", adjoint.shape, adjoint.dtype, adjoint.op)
            gradients[name] = to_latex([made])
    return CheckedFormulas(value, gradients)
