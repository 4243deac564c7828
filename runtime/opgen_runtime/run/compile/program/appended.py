"""Which segments give one operand with a slice of it replaced by another, so that the slice alone need be written."""

from __future__ import annotations

from collections.abc import Sequence

from ....compute.te.slice_update import slice_update
from ....ir import Function
from ....transform.calls import facts
from .donated import Appended


def appended_by(segment: Function, given: Sequence[int]) -> Appended | None:
    """What a segment gives, where it is one operand with a slice of it replaced by another.

    `given`: the slots of the operands; those beyond the call's are there for their dims.
    """
    args, known = segment.body.children(), facts(segment.body)
    if known is None or len(known.outputs) != 1 or args != segment.params[: len(args)]:
        return None
    update = slice_update(known.outputs[0])
    slots = {known.operand(k): slot for k, slot in enumerate(given[: len(args)])}
    if update is None or not slots.keys() >= {update.whole, update.part}:
        return None
    return Appended(slots[update.whole], slots[update.part], update.axis, update.start)
