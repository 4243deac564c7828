"""The rules for one node: its operator, its attributes, and how many inputs and outputs it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from onnx import AttributeProto

from .errors import ModelError, shown
from .graph import Model, Node, Opsets
from .schemas import schema_of


def check_node(model: Model, node: Node, opsets: Opsets) -> None:
    """Raises ModelError for the first rule that a node breaks."""
    for rule in NODE_RULES:
        reason = rule(model, node, opsets)
        if reason is not None:
            raise ModelError(reason)


NodeRule: TypeAlias = "Callable[[Model, Node, Opsets], str | None]"


def _why_no_operator(model: Model, node: Node, opsets: Opsets) -> str | None:
    if not node.operator:
        return "it names no operator"
    if node.domain not in opsets and node.function not in model.functions:
        return f"no opset of its domain {shown(node.domain or 'ai.onnx')!r} is imported"
    return None


def _why_bad_attributes(model: Model, node: Node, opsets: Opsets) -> str | None:
    if twice := duplicate([each.name for each in node.proto.attribute]):
        return f"there are two attributes {shown(twice)!r}"
    for each in node.proto.attribute:
        if each.type not in _FIELDS:
            return f"attribute {shown(each.name)!r} has the type {each.type}, which ONNX does not know"
        field = _FIELDS[each.type]
        if not each.ref_attr_name and field and not each.HasField(field):
            return f"attribute {shown(each.name)!r} of type {_type_name(each.type)} holds no value of it"
    return None


_FIELDS: Final[dict[int, str]] = {
    AttributeProto.UNDEFINED: "",
    AttributeProto.FLOAT: "f",
    AttributeProto.INT: "i",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.TYPE_PROTO: "tp",
    AttributeProto.FLOATS: "",
    AttributeProto.INTS: "",
    AttributeProto.STRINGS: "",
    AttributeProto.TENSORS: "",
    AttributeProto.GRAPHS: "",
    AttributeProto.SPARSE_TENSORS: "",
    AttributeProto.TYPE_PROTOS: "",
}
"""The field that holds the one value of an attribute of each type; lists may be empty."""


def _type_name(number: int) -> str:
    return str(AttributeProto.AttributeType.Name(number)).lower()


def _why_not_schema(model: Model, node: Node, opsets: Opsets) -> str | None:
    """What the operator's schema says of the counts of inputs and outputs and of attributes."""
    if node.function in model.functions:
        body = model.functions[node.function]
        return _why_not_between("inputs", len(node.inputs), 0, len(body.inputs)) or _why_not_between(
            "outputs", len(node.outputs), 0, len(body.outputs)
        )
    schema = schema_of(node.domain, node.operator, opsets[node.domain])
    if schema is None:  # one that is not known is told with all others
        return None
    reason = _why_not_between("inputs", len(node.inputs), schema.min_input, schema.max_input)
    reason = reason or _why_not_between("outputs", len(node.outputs), schema.min_output, schema.max_output)
    if reason:
        return reason
    given = {each.name: each.type for each in node.proto.attribute}
    for name, declared in schema.attributes.items():
        if name not in given:
            if declared.required:
                return f"attribute {name!r} is missing"
        elif given[name] != declared.type.value:
            wanted = _type_name(declared.type.value)
            return f"attribute {name!r} must be of type {wanted}, found {_type_name(given[name])}"
    return None


def _why_not_between(what: str, count: int, least: int, most: int) -> str | None:
    if least <= count <= most:
        return None
    wanted = f"{least}" if least == most else f"at least {least}" if most > 1 << 20 else f"{least} to {most}"
    return f"{count} {what}, expected {wanted}"


NODE_RULES: Final[tuple[NodeRule, ...]] = (_why_no_operator, _why_bad_attributes, _why_not_schema)


def duplicate(names: Iterable[str]) -> str | None:
    """A name that occurs twice."""
    return next((name for name, count in Counter(names).items() if count > 1), None)
