"""How the adjoint of each float operand is computed, as the samples of a declaration show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.compute.te.derivative import kind_of

from ...model import CheckedGradient
from ...model.opdef import OpDef
from .trials import BoundSample, Trials


def gradient_kinds(
    op: OpDef, trials: Trials, bound: Sequence[BoundSample], declared: Sequence[CheckedGradient]
) -> dict[str, str]:
    """`gather`, `update`, `override`, `zero` or `none: <reason>` by the name of the operand.

    Of several samples the first one that shows more than `zero` counts; what none of them gives as floats is left out.
    """
    found: dict[str, str] = {}
    overridden = {each.input for each in declared}
    stated = op.traits.get("gradient")
    said = stated if isinstance(stated, dict) else {}
    for sample in bound:
        open_ = [name for name in _floats(trials, sample) if found.get(name, "zero") == "zero"]
        for name in open_:
            if name in overridden:
                found[name] = "override"
            elif "none" in said:
                found[name] = f"none: {said['none']}"
            elif trials.assembled.compute is None:
                found[name] = "none: it is a Python function, which has no derived gradient"
        derived = [name for name in open_ if found.get(name, "zero") == "zero"]
        if derived and trials.can_build(sample):
            found |= _derived(trials, sample, derived, takes_first(op))
    return found


def takes_first(op: OpDef) -> bool:
    """Whether the adjoint of a greatest or a least element goes to the first of equal ones."""
    stated = op.traits.get("gradient")
    return isinstance(stated, dict) and stated.get("ties") == "first"


def _floats(trials: Trials, bound: BoundSample) -> Iterator[str]:
    """The operands of floats, where a result is one."""
    if not any(output.dtype.is_float and 0 not in output.shape for output in bound.binding.outputs):
        return
    for name, given in zip(trials.names, bound.binding.inputs, strict=True):
        parts = given if isinstance(given, tuple) else () if given is None else (given,)
        if any(part.dtype.is_float and 0 not in part.shape for part in parts):
            yield name


def _derived(trials: Trials, bound: BoundSample, names: Sequence[str], first: bool) -> dict[str, str]:
    adjoints = trials.adjoints(bound, first)
    found: dict[str, str] = {}
    for name, operand in zip(trials.names, adjoints.operands, strict=True):
        if name not in names:
            continue
        wrt = next(
            each for each in (operand if isinstance(operand, tuple) else (operand,)) if each.dtype.is_float
        )
        try:
            found[name] = kind_of(adjoints.of(wrt))
        except OpgenError as error:
            found[name] = f"none: {error}"
    return found
