"""Tensors of torch and arrays, and the names of their element types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch

from ...base.vocabulary import DTYPE_CLASSES, DTYPES, DType
from ...operator import Dim, TensorType

# torch's element types that declared ops know, by their names here, which are torch's own.
DTYPE_OF: Final[dict[str, torch.dtype]] = {
    name: getattr(torch, name)
    for name in DTYPE_CLASSES["generic"]
    if isinstance(getattr(torch, name, None), torch.dtype)
}
NAME_OF: Final[dict[torch.dtype, DType]] = {dtype: DType(name) for name, dtype in DTYPE_OF.items()}
# c10::ScalarType, as schemas and the C functions write element types.
CODE_OF: Final[dict[str, int]] = {
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
    "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15, "float8_e5m2": 23, "float8_e4m3fn": 24,
    "uint16": 27, "uint32": 28, "uint64": 29,
}  # fmt: skip
NAME_OF_CODE: Final[dict[int, DType]] = {
    code: DType(name) for name, code in CODE_OF.items() if name in DTYPES
}
# What numpy has no name for is seen through integers of its width.
_BITS: Final = {torch.bfloat16: torch.int16, torch.float8_e5m2: torch.uint8, torch.float8_e4m3fn: torch.uint8}


def type_of(tensor: torch.Tensor, dim: Callable[[Any], Dim] = int) -> TensorType:
    """The type of a tensor.  Raises TypeError for an element type that no declared op has."""
    name = NAME_OF.get(tensor.dtype)
    if name is None:
        known = ", ".join(DTYPE_OF)
        raise TypeError(f"a tensor of {tensor.dtype}; expected one of {known}")
    return TensorType([dim(extent) for extent in tensor.shape], name)


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's own memory as an array.  Raises ValueError for a tensor that is not on the CPU."""
    if tensor.device.type != "cpu":
        raise ValueError(f"a tensor on {tensor.device}; expected one on cpu")
    plain = tensor.detach().resolve_conj().resolve_neg()
    bits = _BITS.get(plain.dtype)
    if bits is None:
        found: np.ndarray = plain.numpy()
        return found
    whole: np.ndarray = plain.contiguous().view(bits).numpy()
    return whole.view(NAME_OF[plain.dtype].numpy)


def tensor_of(array: np.ndarray, name: DType) -> torch.Tensor:
    """A tensor of the array's memory, which nobody else may have."""
    dtype = DTYPE_OF[name]
    bits = _BITS.get(dtype)
    whole = np.ascontiguousarray(array).reshape(array.shape)
    if bits is None:
        return torch.from_numpy(whole)
    return torch.from_numpy(whole.view(f"i{whole.itemsize}" if bits is torch.int16 else "u1")).view(dtype)


def has_gradient(tensor: torch.Tensor) -> bool:
    """Whether torch can have a gradient of a tensor: of real and of complex numbers."""
    return bool(tensor.is_floating_point() or tensor.is_complex())
