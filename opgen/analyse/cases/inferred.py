"""Which operands follow from the others and the result, for the generated suite."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.operator.types import TupleType, Type, infer_unknown, relate

from ...model import CheckedCase, Inference
from ..proofs.located import PYTHON_ERRORS
from ..proofs.run import BoundSample, Runner
from ..proofs.samples import OperandType, Sample, case_samples


def inferred_operands(runner: Runner, cases: Sequence[CheckedCase]) -> tuple[Inference, ...]:
    """For each case the operands that the type relation finds: each while it alone is unknown, and all at once.

    None for an op whose type relation is written by hand.
    """
    if runner.op.relation.extern is not None:
        return ()
    known: dict[Hashable, Inference] = {}  # by signature: cases may share one
    found: list[Inference] = []
    for sample in case_samples(cases):
        key = sample.key
        if key not in known:
            known[key] = _inference(runner, sample)
        found.append(known[key])
    return tuple(found)


def _inference(runner: Runner, sample: Sample) -> Inference:
    bound = runner.bind(replace(sample, place=None), [])
    if bound is None:
        return Inference()
    alone = [k for k in range(len(runner.names)) if k in _found(runner, bound, (k,))]
    together = _found(runner, bound, range(len(runner.names)))
    return Inference(tuple(runner.names[k] for k in alone), tuple(runner.names[k] for k in together))


def _found(runner: Runner, bound: BoundSample, unknown: Sequence[int]) -> list[int]:
    """The positions of the operands that follow; none where the relation fails or says another type."""
    types = [_type(operand) for operand in bound.sample.operands]
    relation = partial(relate, runner.assembled.signature)
    runner.meter.reset()
    try:
        found = infer_unknown(
            relation, runner.op.name, types, bound.binding.result_type, bound.attrs, unknown
        )
    except (OpgenError, *PYTHON_ERRORS):
        return []
    return [k for k, type_ in found.items() if type_ == types[k]]


def _type(operand: OperandType) -> Type:
    """As the argument of a call: of the empty tuple's type where it is absent."""
    if operand is None:
        return TupleType(())
    return TupleType(operand) if isinstance(operand, tuple) else operand
