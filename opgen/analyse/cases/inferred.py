"""Which operands follow from the others and the result, for the generated suite."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from functools import partial

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.operator.types import TensorType, TupleType, Type, attrs_read, infer_unknown, relate

from ...model import CheckedCase, Inference
from ..proofs.located import PYTHON_ERRORS
from ..proofs.samples import OperandType, Sample, case_samples
from ..proofs.trials import BoundSample, Trials


def inferred_operands(trials: Trials, cases: Sequence[CheckedCase]) -> tuple[Inference, ...]:
    """For each case the operands that the type relation finds: each while it alone is unknown, and all at once.

    None for an op whose type relation is written by hand.
    """
    if trials.op.relation.extern is not None:
        return ()
    read = attrs_read(trials.assembled.signature, [attr.name for attr in trials.op.attrs])
    known: dict[Hashable, Inference] = {}
    found: list[Inference] = []
    for sample in case_samples(cases):
        key = _alike(sample, read)
        if key not in known:
            known[key] = _inference(trials, sample)
        found.append(known[key])
    return tuple(found)


def _alike(sample: Sample, read: Collection[str]) -> Hashable:
    """Cases that have this in common have the same operands that follow: the attrs that the signature reads, and of
    each operand the rank and which extents are 0 or 1, which broadcasting knows; which dtype it has, and how long it is
    otherwise, is no matter.
    """
    operands = [
        tuple(map(_form, operand)) if isinstance(operand, tuple) else operand and _form(operand)
        for operand in sample.operands
    ]
    attrs = [(name, value) for name, value in sorted(sample.attrs.items()) if name in read]
    return (tuple(operands), repr(attrs))


def _form(type_: TensorType) -> tuple[object, ...]:
    return tuple([extent if extent in (0, 1) else None for extent in type_.shape])


def _inference(trials: Trials, sample: Sample) -> Inference:
    bound = trials.bind(Sample(sample.operands, sample.attrs))
    if not isinstance(bound, BoundSample):
        return Inference()
    alone = [k for k in range(len(trials.names)) if k in _found(trials, bound, (k,))]
    # What follows from the result alone follows where the other operands are known, too.
    is_asked = len(trials.names) > 1 and bool(alone)
    together = _found(trials, bound, range(len(trials.names))) if is_asked else alone
    return Inference(tuple(trials.names[k] for k in alone), tuple(trials.names[k] for k in together))


def _found(trials: Trials, bound: BoundSample, unknown: Sequence[int]) -> list[int]:
    """The positions of the operands that follow; none where the relation fails or says another type."""
    types = [_type(operand) for operand in bound.sample.operands]
    relation = partial(relate, trials.assembled.signature)
    trials.meter.reset()
    try:
        found = infer_unknown(
            relation, trials.op.name, types, bound.binding.result_type, bound.attrs, unknown
        )
    except (OpgenError, *PYTHON_ERRORS):
        return []
    return [k for k, type_ in found.items() if type_ == types[k]]


def _type(operand: OperandType) -> Type:
    """As the argument of a call: of the empty tuple's type where it is absent."""
    if operand is None:
        return TupleType(())
    return TupleType(operand) if isinstance(operand, tuple) else operand
