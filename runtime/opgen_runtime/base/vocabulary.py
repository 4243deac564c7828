"""Names shared by every layer: element types, dtype classes, fusion patterns, reductions.

This module imports nothing of the layers, so that the generator and every layer of the runtime agree on one set
of names.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Final

import numpy as np

from .dataclass import dataclass as dataclass
from .forks import import_module


class DType(str):
    """An element type, interned by name: `DType("int32") is DType("int32")`, and it equals its name.

    `index` is the type of loop variables, indices and dims: 64-bit signed in code, and it meets any other
    integer type (except uint64) in int64.  It is never the type of a tensor.
    """

    # Attributes, not properties: these are read hundreds of thousands of times while declarations are checked.
    __slots__ = (
        "bits", "float_format", "highest", "is_bool", "is_complex", "is_extension", "is_float", "is_inexact",
        "is_int", "is_signed", "is_storage", "kind", "lowest", "onnx",
    )  # fmt: skip
    kind: str  # "b" bool, "i" signed, "u" unsigned, "f" float, "c" complex
    bits: int  # width of one element in memory
    onnx: int  # what ONNX calls it in TensorProto.DataType; 0 for what it has no number for
    float_format: FloatFormat | None
    is_extension: bool  # numpy's arrays of it are of the package ml_dtypes
    is_bool: bool
    is_complex: bool  # a pair in memory: the real part, then the imaginary one
    is_float: bool
    is_inexact: bool  # of floats and complex numbers, which have gradients
    is_int: bool  # of signed and unsigned integers and of `index`, not of bool
    is_signed: bool  # of signed integers and of `index`
    is_storage: bool  # of floats of storage alone: computed in float32 and rounded once (`te.widen`)
    lowest: (
        int | float | bool
    )  # the least value: -inf of floats that have it, False of bool; NaN without an order
    highest: (
        int | float | bool
    )  # the greatest value: inf of floats that have it, True of bool; NaN without an order

    def __new__(cls, name: str) -> DType:
        found = _INTERNED.get(str(name))
        if found is None:
            raise ValueError(f"unknown dtype {str(name)!r}; expected one of {', '.join(DTYPES)}")
        return found

    def __reduce__(self) -> tuple[type[DType], tuple[str]]:
        return DType, (str(self),)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return max(1, self.bits // 8)

    @property
    def part(self) -> DType:
        """What holds the real and the imaginary part of a complex number; of other dtypes the dtype itself."""
        return _INTERNED[f"float{self.bits // 2}"] if self.is_complex else self

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy dtype that stores one element (`index` is stored as int64).

        Raises ImportError for a dtype of ml_dtypes if the extra `bfloat16` is not installed.
        """
        if self.is_extension:
            return _extension(self)
        return np.dtype("int64" if self == "index" else str(self))


def _extension(name: str) -> np.dtype[np.generic]:
    try:
        module = import_module("ml_dtypes")
    except ImportError as error:
        message = (
            f"arrays of {name} need the package ml_dtypes; install the extra: pip install 'opgen[bfloat16]'"
        )
        raise ImportError(message) from error
    found: np.dtype[np.generic] = np.dtype(getattr(module, name))
    return found


def is_extension_array(dtype: np.dtype[np.generic]) -> bool:
    """Whether numpy's `dtype` is one of ours that a package of extensions brings."""
    found = _INTERNED.get(dtype.name)
    return found is not None and found.is_extension


def is_float_array(dtype: np.dtype[np.generic]) -> bool:
    """Whether numpy's `dtype` holds floats; those of extensions count, though numpy calls their kind void."""
    return dtype.kind == "f" or is_extension_array(dtype)


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary float format (IEEE 754): bits of the fraction, exponents of the least and greatest normal numbers.

    A format without infinities has one NaN, all of whose bits are set; what would be infinite is NaN.
    """

    fraction: int
    least: int
    greatest: int
    has_infinities: bool = True

    @property
    def epsilon(self) -> float:
        """The spacing at 1."""
        return 2.0**-self.fraction

    @property
    def highest(self) -> float:
        """The greatest finite number."""
        return (2.0 - (1 if self.has_infinities else 2) * self.epsilon) * 2.0**self.greatest

    @property
    def bias(self) -> int:
        """What is added to exponents where they are stored."""
        return 1 - self.least

    @property
    def tiny(self) -> float:
        """The least positive normal number."""
        return 2.0**self.least

    @property
    def step(self) -> float:
        """The least positive number."""
        return 2.0 ** (self.least - self.fraction)

    @property
    def most(self) -> float:
        """The greatest number, infinity included."""
        return math.inf if self.has_infinities else self.highest


_INTERNED: Final[dict[str, DType]] = {}


def _span(kind: str, bits: int, float_format: FloatFormat | None) -> tuple[int | float | bool, ...]:
    """The least and the greatest value."""
    if kind == "b":
        return False, True
    if kind == "c":
        return math.nan, math.nan
    if float_format is not None:
        return -float_format.most, float_format.most
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind == "i" else (0, (1 << bits) - 1)


def _intern(
    name: str,
    kind: str,
    bits: int,
    float_format: FloatFormat | None = None,
    *,
    onnx: int = 0,
    extension: bool = False,
) -> DType:
    made = str.__new__(DType, name)
    made.kind, made.bits, made.float_format, made.is_extension = kind, bits, float_format, extension
    made.onnx = onnx
    made.is_bool, made.is_float, made.is_int = kind == "b", kind == "f", kind in "iu"
    made.is_complex, made.is_inexact = kind == "c", kind in "fc"
    made.is_signed, made.is_storage = kind == "i", kind == "f" and bits < 32
    made.lowest, made.highest = _span(kind, bits, float_format)
    _INTERNED[name] = made
    return made


BOOL: Final = _intern("bool", "b", 8, onnx=9)
INT8: Final = _intern("int8", "i", 8, onnx=3)
INT16: Final = _intern("int16", "i", 16, onnx=5)
INT32: Final = _intern("int32", "i", 32, onnx=6)
INT64: Final = _intern("int64", "i", 64, onnx=7)
UINT8: Final = _intern("uint8", "u", 8, onnx=2)
UINT16: Final = _intern("uint16", "u", 16, onnx=4)
UINT32: Final = _intern("uint32", "u", 32, onnx=12)
UINT64: Final = _intern("uint64", "u", 64, onnx=13)
FLOAT8_E4M3FN: Final = _intern(
    "float8_e4m3fn", "f", 8, FloatFormat(3, -6, 8, has_infinities=False), onnx=17, extension=True
)
FLOAT16: Final = _intern("float16", "f", 16, FloatFormat(10, -14, 15), onnx=10)
BFLOAT16: Final = _intern("bfloat16", "f", 16, FloatFormat(7, -126, 127), onnx=16, extension=True)
FLOAT32: Final = _intern("float32", "f", 32, FloatFormat(23, -126, 127), onnx=1)
FLOAT64: Final = _intern("float64", "f", 64, FloatFormat(52, -1022, 1023), onnx=11)
COMPLEX64: Final = _intern("complex64", "c", 64, onnx=14)
COMPLEX128: Final = _intern("complex128", "c", 128, onnx=15)
DTYPES: Final[tuple[str, ...]] = tuple(_INTERNED)
INDEX: Final = _intern("index", "i", 64)

DTYPE_CLASSES: Final[dict[str, tuple[DType, ...]]] = {
    "generic": tuple(_INTERNED[n] for n in DTYPES),
    "any": tuple(d for n in DTYPES if not (d := _INTERNED[n]).is_complex),
    "number": tuple(d for n in DTYPES if (d := _INTERNED[n]).kind in "iuf"),
    "arithmetic": tuple(d for n in DTYPES if (d := _INTERNED[n]).kind in "iufc"),
    "integer": tuple(d for n in DTYPES if (d := _INTERNED[n]).is_int),
    "signed": tuple(d for n in DTYPES if (d := _INTERNED[n]).kind in "if"),
    "int": tuple(d for n in DTYPES if (d := _INTERNED[n]).is_signed),
    "uint": tuple(d for n in DTYPES if (d := _INTERNED[n]).kind == "u"),
    "float": tuple(d for n in DTYPES if (d := _INTERNED[n]).is_float),
    "complex": tuple(d for n in DTYPES if (d := _INTERNED[n]).is_complex),
    "inexact": tuple(d for n in DTYPES if (d := _INTERNED[n]).kind in "fc"),
}


class OpPattern(IntEnum):
    """How an op may be fused (Relay's TOpPattern), in order of growing restriction."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


REDUCTIONS: Final[tuple[str, ...]] = ("sum", "prod", "min", "max", "any", "all", "argmax", "argmin", "first")
POSITIONAL: Final[tuple[str, ...]] = ("argmax", "argmin")  # reductions that give a position
