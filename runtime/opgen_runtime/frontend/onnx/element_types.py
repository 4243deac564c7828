"""ONNX's numbers for element types, by the rows of our dtypes."""

from __future__ import annotations

from typing import Final

from onnx import TensorProto

from ...base.vocabulary import DTYPES, DType
from .errors import ModelError, NotSupported
from .narrow import NarrowType, narrow_type

_OF_NUMBER: Final = {DType(name).onnx: DType(name) for name in DTYPES if DType(name).onnx}


def element_type_name(number: int) -> str:
    """What messages call an element type, of any number."""
    known = number in TensorProto.DataType.values()
    return TensorProto.DataType.Name(number) if known else f"number {number}, which ONNX does not know"


def dtype_of(element_type: int) -> DType:
    """The dtype of an ONNX element type. Raises NotSupported for one that no tensor of ours can have."""
    found = _OF_NUMBER.get(element_type)
    if found is None:
        raise NotSupported(f"element type {element_type_name(element_type)}")
    return found


def kind_of(element_type: int) -> DType | NarrowType:
    """The dtype, or the narrow type, of an ONNX element type. Raises NotSupported for one that is neither."""
    return narrow_type(element_type) or dtype_of(element_type)


def element_type_of(dtype: str) -> int:
    """ONNX's number of a dtype. Raises ModelError for one that ONNX does not have."""
    number = DType(dtype).onnx if dtype in DTYPES else 0
    if not number:
        raise ModelError(f"{dtype} is no element type of ONNX")
    return number
