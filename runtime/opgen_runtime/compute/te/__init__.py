"""Tensor expressions: tensors, the operations that define them, and what can be asked about them."""

from __future__ import annotations

from . import nodes as _nodes  # noqa: F401  (tells arith of Read and Reduce)
from .construct import compute, data_axes, placeholder, read, reduce, reduce_axis
from .contract import verify_tensors
from .evaluation import evaluate
from .graph import replace_inputs, replace_scan, replace_statements, replace_tensors, tensor_order
from .normalize import normalize
from .pattern import derive_pattern
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
    Sort,
    State,
    Tensor,
    Update,
    tensors_read,
)
from .text import to_text
from .widen import widen

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
    "Sort",
    "State",
    "Tensor",
    "Update",
    "compute",
    "data_axes",
    "derive_pattern",
    "evaluate",
    "normalize",
    "placeholder",
    "read",
    "reduce",
    "reduce_axis",
    "replace_inputs",
    "replace_scan",
    "replace_statements",
    "replace_tensors",
    "tensor_order",
    "tensors_read",
    "to_text",
    "verify_tensors",
    "widen",
]
