"""Tensor expressions as users write them, `opgen_runtime.te`: the language, questions, and `create_schedule`."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.errors import ScheduleError
from ...compute.te import (
    Compute,
    Extern,
    IterVar,
    Operation,
    Placeholder,
    Read,
    Reduce,
    Scan,
    Sort,
    Tensor,
    derive_pattern,
    evaluate,
    normalize,
    tensor_order,
    to_text,
    verify_tensors,
)
from ...compute.te import dsl as _dsl
from ...compute.te.dsl import *  # noqa: F403  (the language, by its own list of names)
from ...compute.te.dsl.defined import tensor_of
from ...compute.te.loop_ir import LoopIRFunction
from . import Schedule
from . import create_schedule as _create_schedule
from .stages.intrinsic import Intrinsic, decl_tensor_intrin


def create_schedule(outputs: Tensor | Operation | Sequence[Tensor | Operation]) -> Schedule:
    """The default schedule of tensors, or of their operations: each whole, one after the other.

    Raises AccessError for an access that is not proved to stay inside, naming the tensor, the index and its range, and
    ScheduleError for what is no tensor.
    """
    listed = tuple(outputs) if isinstance(outputs, list | tuple) else (outputs,)
    given: list[Tensor] = []
    for each in listed:
        tensor = tensor_of(each) if isinstance(each, Operation) else each
        if not isinstance(tensor, Tensor):
            raise ScheduleError(
                f"te.create_schedule of {each!r:.80}; expected tensors, or operations of tensors"
            )
        given.append(tensor)
    inputs = [tensor for tensor in tensor_order(given) if isinstance(tensor.op, Placeholder)]
    verify_tensors(given, "te.create_schedule", inputs)
    return _create_schedule(given)


__all__ = [
    "Compute",
    "Extern",
    "Intrinsic",
    "IterVar",
    "LoopIRFunction",
    "Operation",
    "Placeholder",
    "Read",
    "Reduce",
    "Scan",
    "Schedule",
    "Sort",
    "Tensor",
    "create_schedule",
    "decl_tensor_intrin",
    "derive_pattern",
    "evaluate",
    "normalize",
    "tensor_order",
    "to_text",
    *_dsl.__all__,
]
