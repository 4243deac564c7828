"""Reading models: protobuf messages as frozen Python values, attributes decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Final, TypeAlias

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from ...vocabulary import DTYPES
from .errors import ModelError, NotSupported

DEFAULT_DOMAINS: Final = ("", "ai.onnx")
Opsets: TypeAlias = "dict[str, int]"
ModelLike: TypeAlias = "ModelProto | bytes | str | PathLike[str]"


def load_model(model: ModelLike) -> ModelProto:
    """The model of a file, of its bytes, or as it is."""
    if isinstance(model, ModelProto):
        return model
    if isinstance(model, bytes):
        return onnx.load_from_string(model)
    return onnx.load(model)


def array_of(tensor: TensorProto) -> np.ndarray:
    """A tensor's array, read-only. Raises NotSupported for an element type that no tensor of ours can have."""
    if tensor.data_type == TensorProto.STRING:
        raise NotSupported("a tensor of strings")
    array = np.asarray(numpy_helper.to_array(tensor))
    if array.dtype.name not in DTYPES:
        raise NotSupported(f"element type {TensorProto.DataType.Name(tensor.data_type)}")
    if array.flags.writeable:
        array.flags.writeable = False
    return array


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
        return self.name or f"(node of {', '.join(o for o in self.outputs if o) or 'no output'})"

    @property
    def full_operator(self) -> str:
        return self.operator if not self.domain else f"{self.domain}.{self.operator}"

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

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        return tuple([_node(proto) for proto in self.proto.node])

    @cached_property
    def initializers(self) -> dict[str, np.ndarray]:
        """Raises NotSupported for one of an element type that no tensor of ours can have."""
        found = {tensor.name: array_of(tensor) for tensor in self.proto.initializer}
        for sparse in self.proto.sparse_initializer:
            found[sparse.values.name] = dense_of(sparse)
        return found


def dense_of(sparse: onnx.SparseTensorProto) -> np.ndarray:
    """A sparse tensor's elements in a dense array, read-only."""
    values, indices = array_of(sparse.values), array_of(sparse.indices)
    dense = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    dense.flags.writeable = False
    return dense


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
    """A whole model."""

    def __init__(self, model: ModelLike) -> None:
        """Raises ModelError for an opset below 7, which the mappings do not know."""
        self.proto = load_model(model)
        self.opsets = {_domain(each.domain): each.version for each in self.proto.opset_import}
        self.graph = Graph(self.proto.graph)
        if self.opsets.setdefault("", 1 if not self.proto.opset_import else max(self.opsets.values())) < 1:
            raise ModelError("the model names no opset")
        self.functions = {
            (_domain(each.domain), each.name): FunctionBody.of(each) for each in self.proto.functions
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
