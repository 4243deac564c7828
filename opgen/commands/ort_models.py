"""What the nodes of declared ops in an ONNX model need of a library of custom ops: attrs, element types, ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

import numpy as np

from opgen_runtime.base.arith import Var, dim
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.vocabulary import DTYPES, DType
from opgen_runtime.bridges import onnxruntime as bridge
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.op_programs.programs import Declared, OperandType, program_of

from ..project import ProjectError, find_project
from .example import load_op
from .failure import Failure, Findings
from .lookup import find_op
from .onnx_models import existing, frontend

_MAX_BYTES_OF_SIZES: Final = 4096  # of a tensor that may be a shape
_DTYPES: Final[Mapping[int, DType]] = {DType(name).onnx: DType(name) for name in DTYPES}


def requests_of_model(path: str) -> list[bridge.Request]:
    """A request for each kind of node of a declared op, of the project or built in.

    Dims of the model that are sizes are sizes of the entries; those with names are equal where the names are.
    Raises Failure where there is no such node, or the type of an operand is not known; Findings for a node that the
    op does not take.
    """
    frontend()
    try:
        model, _ = import_module("opgen_runtime.frontend.onnx.decode").load_model(existing(path))
    except OpgenError as error:
        raise Failure(str(error)) from None
    return _Model(path, model).requests()


class _Model:
    def __init__(self, path: str, model: Any) -> None:
        self._path = path
        self._model = model
        self._own = _own_namespace()
        self._dims: dict[str, Var] = {}
        self._types: dict[str, TensorType] = {}

    def requests(self) -> list[bridge.Request]:
        found: dict[str, bridge.Request] = {}
        self._note(self._model.graph)
        self._drop_weights()
        self._infer()
        for node in self._nodes(self._model.graph):
            try:
                request = self._request(node)
            except OpgenError as error:
                raise Findings(f"{self._path}: {_shown(node)}: {error}") from None
            found.setdefault(str(request), request)
        if not found:
            domains = " or ".join(dict.fromkeys([repr(bridge.BUILT_IN), repr(self._own or bridge.BUILT_IN)]))
            raise Failure(f"{self._path} has no node of the domain {domains}")
        return list(found.values())

    def _nodes(self, graph: Any) -> Iterator[Any]:
        """The nodes of declared ops, those of graphs within graphs too."""
        for node in graph.node:
            if node.domain == bridge.BUILT_IN or (node.domain and node.domain == self._own):
                yield node
            for attribute in node.attribute:
                for inner in (attribute.g, *attribute.graphs):
                    self._note(inner)
                    yield from self._nodes(inner)

    def _request(self, node: Any) -> bridge.Request:
        program = _program(node)
        types = self._operands(program, node)
        kinds = {field.name: field.kind for field in program.fields}
        attrs = {each.name: _value(each, kinds.get(each.name, "")) for each in node.attribute}
        made = bridge.request(program.path[0], types, attrs)
        for name, type_ in zip(node.output, program.infer(types, made.values), strict=False):
            self._types.setdefault(name, type_)
        return made

    def _operands(self, program: Declared, node: Any) -> list[OperandType]:
        names = list(node.input)
        found: list[OperandType] = []
        for operand in program.operands:
            if operand.kind == "several":
                found.append(tuple([self._type(node, operand.name, name) for name in names]))
                names.clear()
            else:
                name = names.pop(0) if names else ""
                found.append(self._type(node, operand.name, name) if name else None)
        return found

    def _type(self, node: Any, operand: str, name: str) -> TensorType:
        if name not in self._types:
            self._infer()
        if name not in self._types:
            raise Failure(
                f"{self._path}: {_shown(node)}: the type of {name!r}, its operand {operand!r}, is not known; "
                "state it in the model's value_info"
            )
        return self._types[name]

    def _drop_weights(self) -> None:
        """Forget values that no shape is made of: their types are known."""
        graph = self._model.graph
        kept = [each for each in graph.initializer if each.ByteSize() <= _MAX_BYTES_OF_SIZES]
        del graph.initializer[:]
        graph.initializer.extend(kept)

    def _infer(self) -> None:
        """Types of all that onnx infers from what is known."""
        onnx = import_module("onnx")
        known = onnx.ModelProto()
        known.CopyFrom(self._model)
        stated = {each.name for each in known.graph.value_info}
        for name, type_ in self._types.items():
            if name not in stated:
                known.graph.value_info.append(_info(onnx, name, type_, self._dims))
        self._note(onnx.shape_inference.infer_shapes(known).graph)

    def _note(self, graph: Any) -> None:
        for each in graph.initializer:
            if each.data_type in _DTYPES:
                self._types.setdefault(each.name, TensorType(tuple(each.dims), _DTYPES[each.data_type]))
        for each in (*graph.input, *graph.value_info, *graph.output):
            tensor = each.type.tensor_type
            if tensor.elem_type in _DTYPES and tensor.HasField("shape") and each.name not in self._types:
                dims = [self._dim(each.name, axis, one) for axis, one in enumerate(tensor.shape.dim)]
                self._types[each.name] = TensorType(dims, _DTYPES[tensor.elem_type])

    def _dim(self, name: str, axis: int, given: Any) -> int | Var:
        if given.HasField("dim_value"):
            return int(given.dim_value)
        if given.dim_param:
            return self._dims.setdefault(given.dim_param, dim(given.dim_param))
        return dim(f"{name}.shape[{axis}]")


def _info(onnx: Any, name: str, type_: TensorType, dims: Mapping[str, Var]) -> Any:
    """A type as a model states it; a dim that is no size and no dim of the model is left open."""
    shape = [
        each if isinstance(each, int) else each.name if isinstance(each, Var) and each.name in dims else None
        for each in type_.shape
    ]
    return onnx.helper.make_tensor_value_info(name, type_.dtype.onnx, shape)


def _own_namespace() -> str:
    try:
        return find_project().namespace
    except ProjectError:
        return ""


def _program(node: Any) -> Declared:
    """The op of a node.  Raises RegistryError for one that is not built in, Failure for one of no project."""
    if node.domain == bridge.BUILT_IN:
        return program_of(node.op_type)
    found = find_op(f"{node.domain}.{node.op_type}")
    return program_of(load_op(found.project, found.op).name)


def _value(attribute: Any, kind: str) -> object:
    """An attribute as a value of an attr: floats are the shortest decimals that they are, a dtype is its name."""
    onnx = import_module("onnx")
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == onnx.AttributeProto.TENSOR:
        return onnx.numpy_helper.to_array(value).tolist()
    if attribute.type == onnx.AttributeProto.FLOAT:
        return _short(value)
    if attribute.type == onnx.AttributeProto.FLOATS:
        return [_short(each) for each in value]
    if isinstance(value, bytes):
        return value.decode()
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [each.decode() for each in value]
    if kind == "bool" and value in (0, 1):
        return bool(value)
    return _DTYPES.get(value, value) if kind == "dtype" else value


def _short(value: float) -> float:
    return float(str(np.float32(value)))


def _shown(node: Any) -> str:
    name = f" {node.name!r}" if node.name else ""
    return f"node{name} {node.domain}::{node.op_type}"
