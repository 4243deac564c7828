"""The rules that a model keeps before any of it is converted; the first that is broken is a ModelError.

A rule is a function that gives the reason against a part of a model, or None: `MODEL_RULES`
here and those of `node_rules`.  What depends on shapes and values is checked where a node is converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

import onnx
from google.protobuf.message import Message
from onnx import TensorProto, ValueInfoProto

from .call_graph import check_calls
from .errors import ModelError, NotSupported, errors_of, shown
from .graph import Graph, Model, Node, Opsets
from .limits import MAX_AXES, Budget, Limits
from .node_rules import check_node, duplicate

_LAST_VERSION: Final = (1 << 31) - 1  # a 32-bit number in ONNX's own tables


def checked_model(model: Model, limits: Limits) -> Model:
    """`model`, which keeps the rules. Raises ModelError, UnsupportedOperatorError."""
    for rule in MODEL_RULES:
        reason = rule(model)
        if reason is not None:
            raise ModelError(reason)
    with Budget(limits).current():
        _check_graph(model, model.graph, model.opsets, None)
        for key, body in model.functions.items():
            name = ".".join(part for part in key if part)
            if twice := duplicate(body.inputs):
                raise ModelError(f"function {shown(name)!r} has two inputs {shown(twice)!r}")
            scope = _Scope(body.inputs, None)
            _check_nodes(model, body.bound_nodes({}), body.opsets, scope)
            _check_outputs(f"function {shown(name)!r}", body.outputs, scope)
    check_calls(model, limits)
    return model


def _why_no_graph(model: Model) -> str | None:
    if not model.proto.HasField("graph"):
        return "the model has no graph; the file is empty or no ONNX model"
    return None


def _why_not_text(model: Model) -> str | None:
    """Names that are not UTF-8, which protobuf gives as bytes."""
    waiting: list[Any] = [model.proto]
    while waiting:
        message = waiting.pop()
        if isinstance(message, TensorProto):  # its data is no text, and may be long
            fields: list[str | bytes] = [message.name]
        else:
            fields = []
            for field, value in message.ListFields():
                if field.message_type is not None:
                    waiting.extend((value,) if isinstance(value, Message) else value)
                elif field.type == field.TYPE_STRING:
                    fields.extend((value,) if isinstance(value, str | bytes) else value)
        wrong = [text for text in fields if not isinstance(text, str)]
        if wrong:
            return f"the name {shown(wrong[0])} is not UTF-8"
    return None


def _why_bad_imports(model: Model) -> str | None:
    if not model.opsets:
        return "the model imports no opset"
    return _why_bad_opsets("the model", model.proto.opset_import)


def _why_bad_opsets(who: str, imports: Iterable[onnx.OperatorSetIdProto]) -> str | None:
    seen: dict[str, int] = {}
    for each in imports:
        domain = "" if each.domain == "ai.onnx" else each.domain
        named = shown(domain or "ai.onnx")
        most = onnx.defs.onnx_opset_version() if not domain else _LAST_VERSION
        if not 1 <= each.version <= most:
            return f"{who} imports opset {each.version} of {named}; expected 1 to {most}"
        if seen.setdefault(domain, each.version) != each.version:
            return f"{who} imports two opsets of {named}, {seen[domain]} and {each.version}"
    return None


def _why_bad_functions(model: Model) -> str | None:
    keys = [".".join([f.domain, f.name, f.overload]).strip(".") for f in model.proto.functions]
    if twice := duplicate(keys):
        return f"there are two functions {shown(twice)!r}"
    for proto in model.proto.functions:
        if reason := _why_bad_opsets(f"function {shown(proto.name)!r}", proto.opset_import):
            return reason
    return None


def _why_bad_values(model: Model) -> str | None:
    """Inputs and outputs: their names and types."""
    for kind, values in (("input", model.graph.proto.input), ("output", model.graph.proto.output)):
        if twice := duplicate([value.name for value in values]):
            return f"there are two {kind}s {shown(twice)!r}"
        for value in values:
            if reason := _why_bad_value(value):
                return f"{kind} {shown(value.name)!r}: {reason}"
    return None if model.graph.proto.output else "the model has no output"


def _why_bad_value(value: ValueInfoProto) -> str | None:
    if not value.name:
        return "it has no name"
    kind = value.type
    while kind.WhichOneof("value") in ("sequence_type", "optional_type"):
        kind = getattr(kind, str(kind.WhichOneof("value"))).elem_type
    tensor = kind.tensor_type
    if tensor.elem_type not in TensorProto.DataType.values():
        return f"the element type is number {tensor.elem_type}, which ONNX does not know"
    if len(tensor.shape.dim) > MAX_AXES:
        return f"it has {len(tensor.shape.dim)} axes, where {MAX_AXES} are the most"
    lowest = min([dim.dim_value for dim in tensor.shape.dim], default=0)
    return f"a dim is {lowest}" if lowest < -1 else None  # some exporters write -1 for a dim that is open


MODEL_RULES: Final[tuple[Callable[[Model], str | None], ...]] = (
    _why_no_graph,
    _why_not_text,
    _why_bad_imports,
    _why_bad_functions,
    _why_bad_values,
)


class _Scope:
    """The names that are defined at a node: its graph's so far, and those of the graphs around it."""

    def __init__(self, names: Iterable[str], outer: _Scope | None) -> None:
        self.names = set(names)
        self.outer = outer

    def __contains__(self, name: str) -> bool:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return True
            scope = scope.outer
        return False


def _check_graph(model: Model, graph: Graph, opsets: Opsets, outer: _Scope | None) -> None:
    named = f"graph {shown(graph.name)!r}"
    held = [tensor.name for tensor in graph.proto.initializer]
    held.extend([sparse.values.name for sparse in graph.proto.sparse_initializer])
    if twice := duplicate(held):
        raise ModelError(f"{named} has two initializers {shown(twice)!r}")
    if "" in held:
        raise ModelError(f"{named} has an initializer without a name")
    for tensor in graph.proto.initializer:
        with errors_of(graph), suppress(NotSupported):  # which is told with all else that is not supported
            graph.array(tensor)
    if twice := duplicate(graph.all_inputs):
        raise ModelError(f"{named} has two inputs {shown(twice)!r}")
    scope = _Scope((*graph.all_inputs, *held), outer)
    _check_nodes(model, graph.nodes, opsets, scope)
    _check_outputs(named, graph.outputs, scope)


def _check_outputs(where: str, outputs: Iterable[str], scope: _Scope) -> None:
    missing = [name for name in outputs if name not in scope]
    if missing:
        raise ModelError(f"{where}: no node gives the output {shown(missing[0])!r}")


def _check_nodes(model: Model, nodes: Iterable[Node], opsets: Opsets, scope: _Scope) -> None:
    nodes = tuple(nodes)
    later = {name for node in nodes for name in node.outputs}
    for node in nodes:
        with errors_of(node):
            for name in node.inputs:
                if name and name not in scope:
                    why = "is given by a later node or by itself" if name in later else "is given by nothing"
                    raise ModelError(f"the input {shown(name)!r} {why}")
            check_node(model, node, opsets)
            for graph in node.subgraphs():
                _check_graph(model, graph, opsets, scope)
            for name in filter(None, node.outputs):
                if name in scope.names:
                    raise ModelError(f"the output {shown(name)!r} is the second value of that name")
                scope.names.add(name)
