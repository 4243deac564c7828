"""Some lanes of a vector moved to its front."""

from __future__ import annotations

from typing import Final

from ...base.vocabulary import BOOL
from .memory import from_memory, to_memory
from .text import FunctionText, Value
from .text.types import memory_type, register_type, suffix, vector_type

_MIN_VECTOR_BITS: Final = 128  # of a vector; LLVM has no code for less


def packed(f: FunctionText, value: Value, mask: Value) -> Value:
    """The lanes of a vector in which the mask holds, moved to its front; 0 in the others."""
    lanes = max(value.lanes, mask.lanes)
    text, kind = to_memory(f, value, lanes), memory_type(value.dtype, lanes)
    width = max(8, value.dtype.bits)
    bits, flags, where = vector_type(f"i{width}", lanes), register_type(BOOL, lanes), f.vector(mask, lanes)
    if kind != bits:
        text = f.emit(f"bitcast {kind} {text} to {bits}")
    whole, full = bits, max(lanes, _MIN_VECTOR_BITS // width)
    if full > lanes:
        order = [min(k, lanes) for k in range(full)]
        text = f.shuffle(bits, text, "zeroinitializer", order)
        where = f.shuffle(flags, where, "zeroinitializer", order)
        whole, flags = vector_type(f"i{width}", full), register_type(BOOL, full)
    arguments = ((whole, text), (flags, where), (whole, "zeroinitializer"))
    text = f.call(f"llvm.experimental.vector.compress.{suffix(whole)}", whole, arguments)
    if full > lanes:
        text = f.shuffle(whole, text, "poison", range(lanes))
    if kind != bits:
        text = f.emit(f"bitcast {bits} {text} to {kind}")
    return from_memory(f, value.dtype, lanes, text)
