"""Tensor expressions: tensors, the operations that define them, and what can be asked about them."""

from __future__ import annotations

from . import nodes as _nodes  # noqa: F401  (tells arith of Read and Reduce)
from .construct import compute, data_axes, placeholder, read, reduce, reduce_axis
from .tensor import (
    Compute,
    Extern,
    Guard,
    IterVar,
    Loop,
    Operation,
    Placeholder,
    Put,
    Read,
    Reduce,
    Scan,
    State,
    Tensor,
    Update,
    tensors_read,
)

__all__ = [
    "Compute",
    "Extern",
    "Guard",
    "IterVar",
    "Loop",
    "Operation",
    "Placeholder",
    "Put",
    "Read",
    "Reduce",
    "Scan",
    "State",
    "Tensor",
    "Update",
    "compute",
    "data_axes",
    "placeholder",
    "read",
    "reduce",
    "reduce_axis",
    "tensors_read",
]
