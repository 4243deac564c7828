"""How element types and literals are spelt in LLVM IR.

In registers a bool is `i1` and a float that is a format of storage an integer of its bits: LLVM's own arithmetic of
them may become calls to a compiler library that is not there.  In memory a bool is one byte.
"""

from __future__ import annotations

import struct
from typing import Final

import numpy as np

from ....base.arith.semantics import round_float, to_bits
from ....base.vocabulary import DType

_FLOATS: Final[dict[str, str]] = {"float32": "float", "float64": "double"}
_SUFFIX: Final[dict[str, str]] = {"float": "f32", "double": "f64"}


def vector_type(element: str, lanes: int) -> str:
    """`float`, or `<16 x float>`."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def register_type(dtype: DType, lanes: int = 1) -> str:
    """The type of a value in a register."""
    return vector_type("i1" if dtype.is_bool else _FLOATS.get(dtype) or f"i{dtype.bits}", lanes)


def memory_type(dtype: DType, lanes: int = 1) -> str:
    """The type of a value in memory."""
    return vector_type("i8", lanes) if dtype.is_bool else register_type(dtype, lanes)


def suffix(llvm_type: str) -> str:
    """The part of an intrinsic's name for a type: `<16 x float>` is `v16f32`."""
    if llvm_type.startswith("<"):
        count, _, element = llvm_type[1:-1].partition(" x ")
        return f"v{count}{_SUFFIX.get(element, element)}"
    return _SUFFIX.get(llvm_type, llvm_type)


def literal(dtype: DType, value: bool | int | float) -> str:
    """A scalar constant of `dtype`: floats are rounded to it, ints wrap to its width."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_storage:
        return str(to_bits(round_float(float(value), dtype), dtype))
    if dtype.is_float:
        return float_literal(_FLOATS[dtype], float(value))
    bits = dtype.bits
    wrapped = int(value) & ((1 << bits) - 1)
    return str(wrapped - (1 << bits) if dtype.is_signed and wrapped >> (bits - 1) else wrapped)


def float_literal(element: str, value: float) -> str:
    """`value` rounded to `element` ("float" or "double"), as LLVM writes it: the bits of a double."""
    if element == "float":
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def vector_literal(dtype: DType, lanes: int, value: bool | int | float) -> str:
    """A constant vector of equal elements."""
    return f"splat ({register_type(dtype)} {literal(dtype, value)})"


def iota(element: str, lanes: int, base: int = 0, stride: int = 1) -> str:
    """The constant vector base, base + stride, ..."""
    return "<" + ", ".join(f"{element} {base + stride * k}" for k in range(lanes)) + ">"
