"""Results in the memory of parameters: what is to become of a plan's code, and what arrays must be.

%9 = put_slice(%1, %4)               %9[:, n:] = %4              %9 has the memory of %1: only the slice is written
%8 = add(%9, %2)              -->    %8 = add(%9, %2)

%3 = multiply(%1, %2)                %3 = multiply(%1, %2)       %4 is filled when %1 is read for the last time
%4 = add(%3, %2)              -->    %4 = add(%3, %2)

%4 = add(%1, %2)                     %5 = add(%1, %2)            %1 is read while the result is made, which is
                              -->    %4 = %5                     copied then
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

import numpy as np

from ....base.arith import Expr
from ....base.errors import ExecutorError
from ....base.vocabulary import dataclass
from ..native.buffers import is_result
from ..native.pointers import address_of
from .arena import lives
from .plan import Copy, Donation, Instruction, PutSlice, Run, ends, renamed, used


class Named(Protocol):
    """An operand, as messages name it."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Appended:
    """What a slot is: `whole` with `part` from `start` on along an axis."""

    whole: int
    part: int
    axis: int
    start: int | Expr


def in_donated(
    code: Sequence[Instruction],
    donated: Mapping[int, int],
    growing: Collection[int],
    appended: Mapping[int, Appended],
    new: Callable[[int], int],
) -> list[Instruction]:
    """The code where results have the memory of parameters; `donated`: the parameter of each such result, as slots.

    `growing`: the parameters that are read below what is appended alone.  `new`: a slot like another.
    """
    found = list(code)
    for target, param in donated.items():
        found = _with(found, target, param, param in growing, appended.get(target), new)
    return found


def _with(
    code: list[Instruction],
    target: int,
    param: int,
    grows: bool,
    put: Appended | None,
    new: Callable[[int], int],
) -> list[Instruction]:
    at = next((k for k, each in enumerate(code) if isinstance(each, Run) and each.outputs == (target,)), None)
    reads = {k for k, each in enumerate(code) if param in used(each)}
    alive = lives(code)
    if put is not None and at is not None and put.whole == param != put.part and _is_outermost(code, at):
        is_last = not any([k > at for k in reads])
        if grows or is_last:
            made = PutSlice(target, put.part, put.axis, put.start)
            return [*code[:at], made, *code[at + 1 :]]
    if not reads or (target in alive and alive[param][1] < alive[target][0]):
        return code
    other = new(target)
    moved = [renamed(each, lambda slot: other if slot == target else slot) for each in code]
    return [*moved, Copy(other, target)]


def _is_outermost(code: Sequence[Instruction], position: int) -> bool:
    """Whether an instruction is in no branch and no loop."""
    return not any([start < position < end for start, end in ends(code).items()])


def check_donated(
    name: str, slots: Sequence[Named], donations: Sequence[Donation], arrays: Sequence[np.ndarray]
) -> None:
    """That results may be written where operands lie.

    Refused are operands that are no plain arrays of numpy, read-only, not contiguous in C's order, not aligned, of the
    other byte order, and views of another array, whose owner would see them change; and those of whose memory another
    operand has a part.  Raises ExecutorError.
    """
    given = {each.param for each in donations}
    for k in given:
        why = _why_not_written(arrays[k])
        if why is not None:
            raise ExecutorError(f"{name}: input {slots[k].name} is donated, and {why}")
    spans = sorted(
        [(address_of(a), a.nbytes, k) for k, a in enumerate(arrays) if type(a) is np.ndarray and a.size]
    )
    furthest = (0, -1)  # the end that was reached, and whose it is
    for start, size, k in spans:
        end, other = furthest
        if start < end and (k in given or other in given):
            mine, theirs = (k, other) if k in given else (other, k)
            raise ExecutorError(
                f"{name}: input {slots[mine].name} is donated, and input {slots[theirs].name} has a part of its memory"
            )
        furthest = max(furthest, (start + size, k))


def _why_not_written(array: object) -> str | None:
    if type(array) is not np.ndarray:
        return f"must be an array of numpy, found {type(array).__name__}"
    flags = array.flags
    if not flags.writeable:
        return "is read-only"
    if not flags.c_contiguous:
        return f"is not contiguous: shape {list(array.shape)}, strides {list(array.strides)}"
    if not flags.aligned or not array.dtype.isnative:
        return "is not aligned in this machine's byte order"
    if not flags.owndata and not is_result(array):
        return f"is a view of memory that another owns: {type(array.base).__name__}"
    return None
