"""Element types that no op has: integers of fewer than eight bits, and floats of eight bits and fewer.

A tensor of one is carried in a wider type that has all its numbers, int8, uint8 or float32, and is rounded where an
operator gives it; casts, quantisation and what moves whole values take it.  Arrays of it, which models take and give,
are those of ml_dtypes.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from onnx import TensorProto, helper

from ...base.vocabulary import DType, FloatFormat, dataclass
from ...ir import Expr


@dataclass(frozen=True, slots=True)
class NarrowType:
    """An element type: its name in ml_dtypes, the dtype that carries it, its bits, its format where it is a float's.

    A float without a format holds powers of two alone.  `beyond`: what numbers greater than the greatest one become, by
    their sign; `nan`: what NaN becomes; `signed_zero`: whether there is -0.
    """

    name: str
    carrier: DType
    bits: int
    form: FloatFormat | None = None
    beyond: float = math.nan
    nan: float = math.nan
    signed_zero: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self.carrier.is_float

    @property
    def is_int(self) -> bool:
        return self.carrier.is_int

    @property
    def is_bool(self) -> bool:
        return False

    @property
    def lowest(self) -> int:
        """The least number of an integer type."""
        return -(1 << (self.bits - 1)) if self.carrier.is_signed else 0

    @property
    def highest(self) -> int:
        """The greatest number of an integer type."""
        return (1 << (self.bits - int(self.carrier.is_signed))) - 1

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The dtype of arrays, one of ml_dtypes."""
        number = next(number for number, kind in _OF_NUMBER.items() if kind is self)
        found: np.dtype[np.generic] = np.dtype(helper.tensor_dtype_to_np_dtype(number))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Narrow:
    """A tensor of a narrow element type: the tensor that carries it."""

    expr: Expr
    kind: NarrowType


@dataclass(frozen=True, slots=True)
class NarrowArray:
    """An array of a narrow type, carried."""

    array: np.ndarray
    kind: NarrowType


_INT8, _UINT8, _FLOAT32 = DType("int8"), DType("uint8"), DType("float32")
_TYPES: Final = {
    "INT4": NarrowType("int4", _INT8, 4),
    "UINT4": NarrowType("uint4", _UINT8, 4),
    "INT2": NarrowType("int2", _INT8, 2),
    "UINT2": NarrowType("uint2", _UINT8, 2),
    "FLOAT4E2M1": NarrowType("float4_e2m1fn", _FLOAT32, 4, FloatFormat(1, 0, 2), beyond=6.0, nan=-0.0),
    "FLOAT8E5M2": NarrowType("float8_e5m2", _FLOAT32, 8, FloatFormat(2, -14, 15), beyond=math.inf),
    "FLOAT8E4M3FNUZ": NarrowType("float8_e4m3fnuz", _FLOAT32, 8, FloatFormat(3, -7, 7), signed_zero=False),
    "FLOAT8E5M2FNUZ": NarrowType("float8_e5m2fnuz", _FLOAT32, 8, FloatFormat(2, -15, 15), signed_zero=False),
    "FLOAT8E8M0": NarrowType("float8_e8m0fnu", _FLOAT32, 8),
}
_OF_NUMBER: Final = {
    int(TensorProto.DataType.Value(name)): kind
    for name, kind in _TYPES.items()
    if name in TensorProto.DataType.keys()  # noqa: SIM118  (an older onnx does not know all)
}
_OF_NAME: Final = {kind.name: kind for kind in _TYPES.values()}


def narrow_type(element_type: int) -> NarrowType | None:
    """The narrow type of ONNX's number; None for all other numbers."""
    return _OF_NUMBER.get(element_type)


def narrow_dtype(dtype: np.dtype[np.generic]) -> NarrowType | None:
    """The narrow type of an array's dtype."""
    return _OF_NAME.get(dtype.name)


def carried(array: np.ndarray) -> np.ndarray:
    """An array as the program takes it: one of a narrow type in the type that carries it."""
    kind = narrow_dtype(array.dtype)
    return array if kind is None else array.astype(kind.carrier.numpy)
