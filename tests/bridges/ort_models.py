"""ONNX models of nodes of declared ops, as tests run them in onnxruntime."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from opgen_runtime.base.vocabulary import DType
from opgen_runtime.bridges.onnxruntime import Request, open_type
from opgen_runtime.operator import TensorType


def model_of(
    nodes: Sequence[Any], inputs: Mapping[str, TensorType | None], outputs: Mapping[str, TensorType | None]
) -> Any:
    """A model; a type whose dims are open is that rank, and None float32 of any rank."""
    domains = dict.fromkeys(["", *[node.domain for node in nodes]])
    graph = helper.make_graph(
        nodes, "main", [_info(*each) for each in inputs.items()], [_info(*each) for each in outputs.items()]
    )
    opsets = [helper.make_opsetid(domain, 1 if domain else 17) for domain in domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _info(name: str, type_: TensorType | None) -> Any:
    if type_ is None:
        return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
    shape = [each if isinstance(each, int) else None for each in type_.shape]
    return helper.make_tensor_value_info(name, type_.dtype.onnx, shape)


def attributes_of(request: Request) -> dict[str, Any]:
    """The attrs of a request as values of attributes; those that are None are left out."""
    found: dict[str, Any] = {}
    for field in request.program.fields:
        value = request.values[field.name]
        if field.kind == "dtype" and value is not None:
            value = value.onnx  # type: ignore[attr-defined]  # a dtype
        if value is not None:
            found[field.name] = int(value) if isinstance(value, bool) else value
    return found


def node_of(request: Request, names: Sequence[str], results: Sequence[str]) -> Any:
    """The node of a request; an empty list is one of ints, which onnx cannot see."""
    made = helper.make_node(request.program.name, names, results, domain=request.domain)
    for name, value in attributes_of(request).items():
        kind = onnx.AttributeProto.INTS if value == () else None
        made.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return made


def session(model: Any, library: Path) -> Any:
    """A session of a model on one thread, with a library."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.register_custom_ops_library(str(library))
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def run_request(request: Request, library: Path, arrays: Sequence[np.ndarray | None]) -> list[np.ndarray]:
    """The results of one node for the operands of a request, absent ones None."""
    names = ["" if array is None else f"x{k}" for k, array in enumerate(arrays)]
    types = request.program.infer(
        _nested(request, [TensorType(a.shape, a.dtype.name) for a in arrays if a is not None]), request.values
    )
    results = [f"y{k}" for k in range(len(types))]
    while names and not names[-1]:
        names.pop()
    node = node_of(request, names, results)
    inputs = {name: type_ for name, type_ in zip([n for n in names if n], request.leaves, strict=True)}
    outputs = {name: _any_size(type_) for name, type_ in zip(results, types, strict=True)}
    made = session(model_of([node], inputs, outputs), library)
    given = {name: _value(a) for name, a in zip(names, arrays, strict=False) if a is not None}
    return [
        _array(value, type_)
        for value, type_ in zip(made.run_with_ort_values(None, given), types, strict=True)
    ]


def _value(array: np.ndarray) -> Any:
    """An array as onnxruntime takes it; of element types that numpy lacks the bits."""
    if array.dtype.isbuiltin == 1:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    bits = np.array(array, order="C", copy=True).view(f"u{array.dtype.itemsize}")
    number = DType(array.dtype.name).onnx
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, number)


def _array(value: Any, type_: TensorType) -> np.ndarray:
    shape = tuple(value.shape())
    made = np.empty(shape, type_.dtype.numpy)
    ctypes.memmove(made.ctypes.data, value.data_ptr(), made.nbytes)
    return made


def _nested(request: Request, flat: list[TensorType]) -> list[Any]:
    rest = iter(flat)
    return [
        tuple([next(rest) for _ in type_])
        if isinstance(type_, tuple)
        else None
        if type_ is None
        else next(rest)
        for type_ in request.types
    ]


def _any_size(type_: TensorType) -> TensorType:
    return open_type("y", type_.ndim, type_.dtype)
