"""Calls as nodes of the domain of the project that declares the op: attributes by the names of its attrs."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import NodeProto

from ....base.arith import Expr as DimExpr
from ....base.vocabulary import DType
from ....operator import AttrField, Attrs, Op, TensorType
from ..declared_nodes import domain_of, short_decimal, why_not_a_node
from ..element_types import element_type_of
from ..errors import ExportError
from .nodes import Nodes, Value, attribute_proto

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1


def write_own(
    to: Nodes, op: Op, operands: list[Value | None], attrs: Attrs | None, types: tuple[TensorType, ...]
) -> list[Value]:
    """The node of a call of a declared op.  Raises ExportError for an attr that ONNX cannot hold."""
    reason = why_not_a_node(op)
    if reason is not None:
        raise ExportError(reason)
    domain, operator = domain_of(op)
    while operands and operands[-1] is None:
        operands.pop()
    outputs = [Value(to.names.fresh(operator), type_.dtype, type_.shape) for type_ in types]
    proto = NodeProto(
        op_type=operator,
        domain=domain,
        name=outputs[0].name,
        input=["" if each is None else each.name for each in operands],
        output=[each.name for each in outputs],
    )
    if attrs is not None:
        for name, field in type(attrs)._fields.items():
            held = _held(op, field, getattr(attrs, name))
            if held is not None:
                proto.attribute.append(attribute_proto(name, held))
    to.add(proto)
    return outputs


def _held(op: Op, field: AttrField, value: object) -> Any:
    """The value of an attr as an attribute holds it; None where the attribute is left out."""
    try:
        if value is None:
            if field.default is not None:
                raise _Unheld("None, which is not what it is where it is left out")
            return None
        if isinstance(value, tuple):
            return _several([_one(each) for each in value], field.kind)
        return _one(value)
    except _Unheld as reason:
        raise ExportError(f"attr {field.name!r} of op {op.name!r} is {reason}") from None


class _Unheld(Exception):
    """What no attribute holds: the value, and why."""


def _one(value: object) -> Any:
    if isinstance(value, DType):
        number = value.onnx
        if not number:
            raise _Unheld(f"{value}, which is no element type of ONNX")
        return element_type_of(value)
    if isinstance(value, DimExpr):
        raise _Unheld(
            f"{value}, a size that is known when the program runs alone; no attribute of ONNX holds it"
        )
    if isinstance(value, int) and not isinstance(value, bool) and not _LEAST <= value <= _GREATEST:
        raise _Unheld(f"{value}, where attributes of ONNX hold 64 bits")
    if isinstance(value, float) and not _is_short(value):
        return np.asarray(value, np.float64)
    return value


def _is_short(value: float) -> bool:
    """Whether the float32 that an attribute is, read as its shortest decimal, is the number."""
    with np.errstate(over="ignore"):
        kept = short_decimal(float(np.float32(value)))
    return kept == value or value != value


def _several(values: list[Any], kind: str) -> Any:
    if kind == "floats" or any([isinstance(each, float | np.ndarray) for each in values]):
        if any([isinstance(each, np.ndarray) for each in values]):
            return np.asarray([float(each) for each in values], np.float64)
        return tuple([float(each) for each in values])
    return tuple(values)
