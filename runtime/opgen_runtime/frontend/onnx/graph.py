"""Reading models: protobuf messages as frozen Python values, attributes decoded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto

from ...base.lazy import lazy
from ...base.vocabulary import dataclass
from .decode import ModelLike, array_of, dense_of, load_model
from .errors import NotSupported, shown

DEFAULT_DOMAINS: Final = ("", "ai.onnx")
Opsets: TypeAlias = "dict[str, int]"
FunctionKey: TypeAlias = "tuple[str, str, str]"
"""Domain, name and overload of a function."""


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One node: its operator, the names of its values ("" where an optional one is absent), its attributes."""

    name: str
    operator: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    proto: NodeProto

    @property
    def label(self) -> str:
        """What messages call it."""
        return shown(self.name or f"(node of {', '.join(o for o in self.outputs if o) or 'no output'})")

    @property
    def full_operator(self) -> str:
        return shown(self.operator if not self.domain else f"{self.domain}.{self.operator}")

    @property
    def function(self) -> FunctionKey:
        """The function that the node calls, if the model has it."""
        return (self.domain, self.operator, self.proto.overload)

    def attributes(self) -> dict[str, Any]:
        """The attributes by name: numbers, str, tuples, arrays, `Graph`s. Raises NotSupported."""
        return {each.name: _attribute(each) for each in self.proto.attribute}

    def subgraphs(self) -> list[Graph]:
        """The graphs among the attributes."""
        found = []
        for each in self.proto.attribute:
            if each.type == AttributeProto.GRAPH:
                found.append(Graph(each.g))
            found.extend([Graph(g) for g in each.graphs])
        return found


class Graph:
    """A graph: nodes in order, names of inputs and outputs, arrays of initializers (read on first use)."""

    def __init__(self, proto: GraphProto) -> None:
        self.proto = proto
        self.name = proto.name
        initialized = {tensor.name for tensor in proto.initializer}
        initialized.update([sparse.values.name for sparse in proto.sparse_initializer])
        self.all_inputs = tuple([value.name for value in proto.input])
        self.inputs = tuple([value.name for value in proto.input if value.name not in initialized])
        self.outputs = tuple([value.name for value in proto.output])
        self._arrays: dict[str, np.ndarray] = {}

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"graph {shown(self.name)!r}"

    @property
    def full_operator(self) -> str:
        """Where messages name an operator."""
        return "initializer"

    @lazy
    def nodes(self) -> tuple[Node, ...]:
        return tuple([_node(proto) for proto in self.proto.node])

    @lazy
    def initializers(self) -> dict[str, np.ndarray]:
        """Raises NotSupported for one of an element type that no tensor of ours can have."""
        found = {tensor.name: self.array(tensor) for tensor in self.proto.initializer}
        for sparse in self.proto.sparse_initializer:
            found[sparse.values.name] = dense_of(sparse)
        return found

    def array(self, tensor: TensorProto) -> np.ndarray:
        """The array of a dense initializer, which is read once. Raises NotSupported, ModelError as `array_of`."""
        if tensor.name not in self._arrays:
            self._arrays[tensor.name] = array_of(tensor)
        return self._arrays[tensor.name]


@dataclass(frozen=True, eq=False, slots=True)
class FunctionBody:
    """A function of a model, or of an operator's schema: nodes over named inputs, outputs and attributes."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    defaults: dict[str, AttributeProto]
    nodes: tuple[NodeProto, ...]
    opsets: Opsets

    @staticmethod
    def of(proto: FunctionProto) -> FunctionBody:
        return FunctionBody(
            tuple(proto.input),
            tuple(proto.output),
            {each.name: each for each in proto.attribute_proto},
            tuple(proto.node),
            {_domain(each.domain): each.version for each in proto.opset_import},
        )

    def bound_nodes(self, attributes: Mapping[str, AttributeProto]) -> tuple[Node, ...]:
        """The nodes with references to the function's attributes replaced by the values of a call."""
        return tuple([_node(_bound(node, {**self.defaults, **attributes})) for node in self.nodes])


class Model:
    """A whole model, as it was read; `check.checked_model` makes one that keeps the rules."""

    def __init__(self, model: ModelLike, content: memoryview | None = None) -> None:
        """`content`: of the file, where it was read before.  Raises ModelError for what cannot be read."""
        self.proto, self.has_data_beside = load_model(model, content)
        self.opsets = {_domain(each.domain): each.version for each in self.proto.opset_import}
        if not self.opsets and self.proto.ir_version < 3:  # before opsets there was the first
            self.opsets[""] = 1
        self.graph = Graph(self.proto.graph)
        self.functions: dict[FunctionKey, FunctionBody] = {
            (_domain(each.domain), each.name, each.overload): FunctionBody.of(each)
            for each in self.proto.functions
        }


def _domain(domain: str) -> str:
    return "" if domain in DEFAULT_DOMAINS else domain


def _node(proto: NodeProto) -> Node:
    return Node(
        proto.name, proto.op_type, _domain(proto.domain), tuple(proto.input), tuple(proto.output), proto
    )


def _bound(node: NodeProto, values: Mapping[str, AttributeProto]) -> NodeProto:
    """`node` with its references to attributes of the function replaced, in its subgraphs too."""
    if not any(each.ref_attr_name or each.type == AttributeProto.GRAPH for each in node.attribute):
        return node
    made = NodeProto()
    made.CopyFrom(node)
    del made.attribute[:]
    for each in node.attribute:
        if each.ref_attr_name:
            if each.ref_attr_name in values:  # an optional attribute that the call leaves out stays out
                copy = made.attribute.add()
                copy.CopyFrom(values[each.ref_attr_name])
                copy.name = each.name
        else:
            copy = made.attribute.add()
            copy.CopyFrom(each)
            if each.type == AttributeProto.GRAPH:
                bound = [_bound(inner, values) for inner in each.g.node]
                del copy.g.node[:]
                copy.g.node.extend(bound)
    return made


def _attribute(attribute: AttributeProto) -> Any:
    kind = attribute.type
    if kind == AttributeProto.FLOAT:
        return attribute.f
    if kind == AttributeProto.INT:
        return attribute.i
    if kind == AttributeProto.STRING:
        return attribute.s.decode("utf-8", "replace")
    if kind == AttributeProto.TENSOR:
        return array_of(attribute.t)
    if kind == AttributeProto.SPARSE_TENSOR:
        return dense_of(attribute.sparse_tensor)
    if kind == AttributeProto.GRAPH:
        return Graph(attribute.g)
    if kind == AttributeProto.FLOATS:
        return tuple(attribute.floats)
    if kind == AttributeProto.INTS:
        return tuple(attribute.ints)
    if kind == AttributeProto.STRINGS:
        return tuple([each.decode("utf-8", "replace") for each in attribute.strings])
    raise NotSupported(f"attribute {attribute.name!r} of type {AttributeProto.AttributeType.Name(kind)}")
