"""The types of values as ONNX writes them: open dims by name."""

from __future__ import annotations

from onnx import ValueInfoProto

from ....base.arith.expr import Var
from ..element_types import element_type_of
from .nodes import Value


def value_info(value: Value) -> ValueInfoProto:
    """Name and type of a value; an extent that is computed of open dims has no name.

    Raises ModelError for a dtype that ONNX lacks.
    """
    made = ValueInfoProto(name=value.name)
    tensor = made.type.tensor_type
    tensor.elem_type = element_type_of(value.dtype)
    if value.shape is not None:
        tensor.shape.SetInParent()
        for dim in value.shape:
            row = tensor.shape.dim.add()
            if isinstance(dim, int):
                row.dim_value = dim
            elif isinstance(dim, Var):
                row.dim_param = dim.name
    return made
