"""Names of stages that people know: those of the ops that a stage computes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

from ...base.vocabulary import dataclass
from ...compute.te import Tensor
from ...compute.te.graph import tensor_order
from ...lower.library.segment import ChosenCall


@dataclass(frozen=True, slots=True)
class Owner:
    """The op that a tensor belongs to; `is_result`: it is one of the results of a call."""

    op: str
    is_result: bool


def owners_of(
    calls: Sequence[ChosenCall], stands_for: Mapping[Tensor, Tensor], order: Sequence[Tensor]
) -> Mapping[Tensor, Owner]:
    """The owners of the tensors of an order, which stand for those that the calls made.

    What stands for none, as reductions do that were taken out of an expression, belongs to the op that reads it.
    """
    found: dict[Tensor, Owner] = {}
    seen: set[Tensor] = set()
    for call in calls:
        own = [tensor for tensor in tensor_order(call.tensors, seen) if tensor.op.inputs()]
        seen.update(own)
        for tensor in own:
            stood = stands_for.get(tensor, tensor)
            found.setdefault(stood, Owner(call.op.name.rpartition(".")[2], tensor in call.tensors))
    for tensor in reversed(order):
        if tensor in found:
            for read in tensor.op.inputs():
                if read.op.inputs():
                    found.setdefault(read, Owner(found[tensor].op, is_result=False))
    return found


def label_of(tensor: Tensor, owners: Mapping[Tensor, Owner], stored: Collection[Tensor]) -> str:
    """The ops, in their order, of which a stage computes its tensor, where others are stored."""
    inner = tensor_order([tensor], [each for each in stored if each is not tensor])
    ops = [name for name, _ in groupby([owners[each].op for each in inner if each in owners])]
    shown = ops if len(ops) <= 6 else [*ops[:3], f"and_{len(ops) - 5}_more", *ops[-2:]]
    own = owners.get(tensor)
    return "_".join(shown if own is not None and own.is_result else [*shown, tensor.name])
