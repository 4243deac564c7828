"""Operators that are functions of others: those of the model, and those whose schema in onnx has a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from onnx import FunctionProto, TypeProto, helper

from ...operator import TensorType
from .element_types import element_type_of
from .graph import FunctionBody, Node
from .schemas import schema_of


def schema_body(node: Node, version: int, types: Sequence[TensorType | None]) -> FunctionBody | None:
    """The body that onnx's schema gives an operator at an opset, for inputs of these types; None if it has none."""
    schema = schema_of(node.domain, node.operator, version)
    if schema is None:
        return None
    if schema.has_function:
        return _plain_body(node.domain, node.operator, version)
    if schema.has_context_dependent_function:
        given = [_type_proto(type_).SerializeToString() for type_ in types]
        wanted = _latest(schema.context_dependent_function_opset_versions, version)
        proto = FunctionProto()
        proto.ParseFromString(
            schema.get_context_dependent_function_with_opset_version(
                wanted, node.proto.SerializeToString(), given
            )
        )
        return FunctionBody.of(proto) if proto.node else None
    return None


@lru_cache(None)
def _plain_body(domain: str, operator: str, version: int) -> FunctionBody | None:
    schema = schema_of(domain, operator, version)
    assert schema is not None
    wanted = _latest(schema.function_opset_versions, version)
    proto = FunctionProto()
    proto.ParseFromString(schema.get_function_with_opset_version(wanted))
    return _with_defaults(FunctionBody.of(proto), schema) if proto.node else None


def _with_defaults(body: FunctionBody, schema: Any) -> FunctionBody:
    """The body with the defaults of the operator's attributes, which the schema alone holds."""
    defaults = {
        name: each.default_value
        for name, each in schema.attributes.items()
        if each.default_value is not None and each.default_value.name
    }
    return replace(body, defaults={**defaults, **body.defaults})


def _latest(versions: Sequence[int], version: int) -> int:
    """The latest of the versions that holds at an opset; the first where all are later."""
    return max([v for v in versions if v <= version], default=min(versions))


def _type_proto(type_: TensorType | None) -> TypeProto:
    if type_ is None:
        return TypeProto()
    shape = [n if isinstance(n, int) else None for n in type_.shape]
    return helper.make_tensor_type_proto(element_type_of(type_.dtype), shape)
