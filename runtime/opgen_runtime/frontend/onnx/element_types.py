"""ONNX's numbers for element types, and ours."""

from __future__ import annotations

from typing import Final

from onnx import TensorProto

from ...base.vocabulary import DTYPES, DType
from .errors import ModelError, NotSupported
from .narrow import NarrowType, narrow_type

_NAMES: Final[dict[int, str]] = {
    TensorProto.BOOL: "bool",
    TensorProto.INT8: "int8",
    TensorProto.INT16: "int16",
    TensorProto.INT32: "int32",
    TensorProto.INT64: "int64",
    TensorProto.UINT8: "uint8",
    TensorProto.UINT16: "uint16",
    TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64",
    TensorProto.FLOAT8E4M3FN: "float8_e4m3fn",
    TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
}
_NUMBERS: Final = {name: number for number, name in _NAMES.items()}


def element_type_name(number: int) -> str:
    """What messages call an element type, of any number."""
    known = number in TensorProto.DataType.values()
    return TensorProto.DataType.Name(number) if known else f"number {number}, which ONNX does not know"


def dtype_of(element_type: int) -> DType:
    """The dtype of an ONNX element type. Raises NotSupported for one that no tensor of ours can have."""
    name = _NAMES.get(element_type)
    if name is None or name not in DTYPES:
        raise NotSupported(f"element type {element_type_name(element_type)}")
    return DType(name)


def kind_of(element_type: int) -> DType | NarrowType:
    """The dtype, or the narrow type, of an ONNX element type. Raises NotSupported for one that is neither."""
    return narrow_type(element_type) or dtype_of(element_type)


def element_type_of(dtype: str) -> int:
    """ONNX's number of a dtype. Raises ModelError for one that ONNX does not have."""
    if str(dtype) not in _NUMBERS:
        raise ModelError(f"{dtype} is no element type of ONNX")
    return int(_NUMBERS[str(dtype)])
