"""Loads and stores of every second to fourth element, or of each one several times: contiguous vectors and shuffles.

v0 = a[i : i + n], v1 = a[i + n - 1 : i + 2*n - 1]  -->  a[i], a[i + 2], ..., a[i + 2*(n - 1)]

The last vector ends with the last element that is asked for, so that nothing outside of the buffer is touched.  A
machine's own gather takes an element at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...base.vocabulary import BOOL
from ...lower.tir.nodes.vector import MIN_GATHERED_STRIDE, MIN_STRIDED_LANES
from .text import FunctionText, Value, register
from .text.types import register_type, suffix, vector_type


def is_strided(index: Value) -> bool:
    """Whether positions are a sequence that this file takes."""
    return (
        index.ramp is not None
        and 1 < abs(index.ramp[1]) < MIN_GATHERED_STRIDE
        and index.lanes >= MIN_STRIDED_LANES
    )


def repeats(index: Value) -> bool:
    """Whether the positions are elements side by side, each two or four times: a, a, a + 1, a + 1, ..."""
    jumps = index.jumps
    if jumps is None or index.stride != 0 or jumps.jump != 1 or jumps.first.literal != 0:
        return False
    return jumps.every in (2, 4) and index.lanes % jumps.every == 0 and index.lanes > jumps.every


def repeated(index: Value) -> tuple[Value, int]:
    """The first element and how often each one is taken, of positions that `repeats`."""
    assert index.scalar is not None
    assert index.jumps is not None
    return index.scalar, index.jumps.every


def any_of(f: FunctionText, mask: Value, times: int) -> Value:
    """For each `times` lanes whether any of them is on, their flags taken as one integer of 64 bits."""
    count = mask.lanes // times
    narrow, wide = f"<{mask.lanes} x i{64 // times}>", f"<{count} x i64>"
    flags = f.emit(f"sext {register_type(BOOL, mask.lanes)} {f.vector(mask, mask.lanes)} to {narrow}")
    joined = f.emit(f"bitcast {narrow} {flags} to {wide}")
    return register(BOOL, count, f.emit(f"icmp ne {wide} {joined}, zeroinitializer"))


Read = Callable[[int, Sequence[int | None]], str]
"""The contiguous vector that begins so many elements from the lowest, of which those places are used, by lanes."""


def load(f: FunctionText, kind: str, stride: int, lanes: int, read: Read) -> str:
    """A vector of `lanes` elements of the LLVM type `kind` out of contiguous ones."""
    offsets = _offsets(abs(stride), lanes)
    found = ""
    places = _places(stride, lanes)
    for number, offset in enumerate(offsets):
        taken = {place: lane for lane, (at, place) in enumerate(places) if at == number}
        vector = read(offset, [taken.get(place) for place in range(lanes)])
        if not number:
            found = vector
            continue
        order = [
            lanes + place if at == number else (place if number == 1 else lane) if at < number else None
            for lane, (at, place) in enumerate(places)
        ]
        found = f.shuffle(kind, found, vector, order)
    return found


def store(
    f: FunctionText,
    element: str,
    lowest: str,
    stride: int,
    lanes: int,
    align: int,
    metadata: str,
    operand: str,
    mask: str | None = None,
) -> None:
    """Store a vector, its lanes in `mask`, likewise: each contiguous vector under a mask of the places that are its."""
    kind, flags = vector_type(element, lanes), register_type(BOOL, lanes)
    places = _places(stride, lanes)
    for number, offset in enumerate(_offsets(abs(stride), lanes)):
        taken = {place: lane for lane, (at, place) in enumerate(places) if at == number}
        spread = f.shuffle(kind, operand, "poison", [taken.get(place) for place in range(lanes)])
        own = ", ".join(f"i1 {str(place in taken).lower()}" for place in range(lanes))
        if mask is None:
            where = f"<{own}>"
        else:
            where = f.shuffle(
                flags, mask, "zeroinitializer", [taken.get(place, lanes) for place in range(lanes)]
            )
        address = beyond(f, element, lowest, offset, inbounds=mask is None)
        arguments = ((kind, spread), (f"ptr align {align}", address), (flags, where))
        f.call(f"llvm.masked.store.{suffix(kind)}.p0", "void", arguments, attributes=metadata)


def _offsets(stride: int, lanes: int) -> list[int]:
    """Where the contiguous vectors begin, in elements from the lowest one."""
    return [*(number * lanes for number in range(stride - 1)), (stride - 1) * (lanes - 1)]


def _places(stride: int, lanes: int) -> list[tuple[int, int]]:
    """For each lane the number of the contiguous vector that has it, and its place there."""
    step = abs(stride)
    offsets = _offsets(step, lanes)
    elements = [step * (lane if stride > 0 else lanes - 1 - lane) for lane in range(lanes)]
    numbers = [min(element // lanes, step - 1) for element in elements]
    return [(number, element - offsets[number]) for number, element in zip(numbers, elements, strict=True)]


def beyond(f: FunctionText, element: str, address: str, offset: int, inbounds: bool = True) -> str:
    """The address so many elements from another."""
    flag = "inbounds " if inbounds else ""
    return f.emit(f"getelementptr {flag}{element}, ptr {address}, i64 {offset}") if offset else address
