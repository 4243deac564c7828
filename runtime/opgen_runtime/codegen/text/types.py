"""How element types and literals are spelt in LLVM IR.

In registers a bool is `i1` and a float16 or bfloat16 is `i16` (its bits): LLVM's own arithmetic of them may
become calls to a compiler library that is not there.  In memory a bool is one byte.
"""

from __future__ import annotations

import struct
from typing import Final

import numpy as np

from ...base.arith.semantics import round_float
from ...base.vocabulary import DType

_REGISTER: Final[dict[str, str]] = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "index": "i64",
    "uint8": "i8", "uint16": "i16", "uint32": "i32", "uint64": "i64",
    "float16": "i16", "bfloat16": "i16", "float32": "float", "float64": "double",
}  # fmt: skip
_SUFFIX: Final[dict[str, str]] = {"float": "f32", "double": "f64"}


def vector_type(element: str, lanes: int) -> str:
    """`float`, or `<16 x float>`."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def register_type(dtype: DType, lanes: int = 1) -> str:
    """The type of a value in a register."""
    return vector_type(_REGISTER[dtype], lanes)


def memory_type(dtype: DType, lanes: int = 1) -> str:
    """The type of a value in memory."""
    return vector_type("i8" if dtype == "bool" else _REGISTER[dtype], lanes)


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
    if dtype == "float16":
        with np.errstate(over="ignore"):
            return str(int(np.float16(value).view(np.uint16)))
    if dtype == "bfloat16":
        return str(int(np.float32(round_float(value, dtype)).view(np.uint32)) >> 16)
    if dtype.is_float:
        return float_literal(_REGISTER[dtype], float(value))
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
