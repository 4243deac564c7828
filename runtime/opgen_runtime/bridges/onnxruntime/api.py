"""What is used of onnxruntime's C API: where it is, and since which version of the API it is there.

Positions are those of `onnxruntime_c_api.h`, whose structs only grow at their ends.  A library asks for the functions
of version `FLOOR`, the lowest that has all that it uses, and so runs with that onnxruntime and all later ones.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple


class Slot(NamedTuple):
    """A function of a struct: its name, its position among the words, and the API version that it came with."""

    name: str
    position: int
    since: int


API: Final = (
    Slot("CreateStatus", 0, 1),
    Slot("CreateCustomOpDomain", 26, 1),
    Slot("CustomOpDomain_Add", 27, 1),
    Slot("AddCustomOpDomain", 28, 1),
    Slot("GetTensorMutableData", 51, 1),
    Slot("GetTensorElementType", 60, 1),
    Slot("GetDimensionsCount", 61, 1),
    Slot("GetDimensions", 62, 1),
    Slot("GetTensorTypeAndShape", 65, 1),
    Slot("GetAllocatorWithDefaultOptions", 78, 1),
    Slot("KernelInfoGetAttribute_float", 85, 1),
    Slot("KernelInfoGetAttribute_int64", 86, 1),
    Slot("KernelInfoGetAttribute_string", 87, 1),
    Slot("KernelContext_GetInputCount", 88, 1),
    Slot("KernelContext_GetOutputCount", 89, 1),
    Slot("KernelContext_GetInput", 90, 1),
    Slot("KernelContext_GetOutput", 91, 1),
    Slot("ReleaseStatus", 93, 1),
    Slot("ReleaseValue", 96, 1),
    Slot("ReleaseTensorTypeAndShapeInfo", 99, 1),
    Slot("KernelInfoGetAttributeArray_float", 162, 8),
    Slot("KernelInfoGetAttributeArray_int64", 163, 8),
    Slot("KernelInfoGetAttribute_tensor", 236, 14),
)
"""Of `OrtApi`, whose words are all functions."""

CUSTOM_OP: Final = (
    Slot("GetName", 2, 1),
    Slot("GetExecutionProviderType", 3, 1),
    Slot("GetInputType", 4, 1),
    Slot("GetInputTypeCount", 5, 1),
    Slot("GetOutputType", 6, 1),
    Slot("GetOutputTypeCount", 7, 1),
    Slot("KernelDestroy", 9, 1),
    Slot("GetInputCharacteristic", 10, 8),
    Slot("GetOutputCharacteristic", 11, 8),
    Slot("GetInputMemoryType", 12, 13),
    Slot("GetVariadicInputMinArity", 13, 14),
    Slot("GetVariadicInputHomogeneity", 14, 14),
    Slot("GetVariadicOutputMinArity", 15, 14),
    Slot("GetVariadicOutputHomogeneity", 16, 14),
    Slot("CreateKernelV2", 17, 16),
    Slot("KernelComputeV2", 18, 16),
)
"""Of `OrtCustomOp`, whose word 0 is the version that it is written for."""

FLOOR: Final = max(slot.since for slot in (*API, *CUSTOM_OP))
"""The version of the API that a library asks for."""

CUSTOM_OP_WORDS: Final = 26
"""The words of `OrtCustomOp` that any version has; what is ours comes after them."""


class Code(IntEnum):
    """Of `OrtErrorCode`."""

    FAIL = 1
    INVALID_ARGUMENT = 2
    NOT_IMPLEMENTED = 9


class Characteristic(IntEnum):
    """Of `OrtCustomOpInputOutputCharacteristic`."""

    REQUIRED = 0
    OPTIONAL = 1
    VARIADIC = 2
