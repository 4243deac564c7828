"""From files and bytes to protobuf messages and arrays: whatever is damaged there is a ModelError."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import onnx
from google.protobuf import json_format, message, text_format
from onnx import GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, helper, numpy_helper
from onnx.external_data_helper import load_external_data_for_tensor

from ...base.vocabulary import DTYPES
from .element_types import element_type_name
from .errors import ModelError, NotSupported, shown
from .limits import spending
from .narrow import narrow_dtype

ModelLike: TypeAlias = "ModelProto | bytes | str | PathLike[str]"
_MAX_SAID: Final = 300  # characters of a library's own message
_DAMAGED: Final = (message.Error, json_format.Error, text_format.Error, UnicodeError)


def load_model(model: ModelLike, content: memoryview | None = None) -> tuple[ModelProto, bool]:
    """The model of a file, of its bytes, or as it is; with what data lies in files beside it, and whether some does.

    `content`: the bytes of the file, where they were read before.
    Raises ModelError for what cannot be read, and for external data that is absent, is cut off, or lies outside the
    folder of the model.
    """
    if isinstance(model, ModelProto):
        return _without_external_data(model), False
    try:
        if isinstance(model, bytes):
            return _without_external_data(onnx.load_model_from_string(model)), False
        if not isinstance(model, str | PathLike):
            raise ModelError(f"a model is a ModelProto, bytes or a path, found {type(model).__name__}")
        if content is None:
            found = onnx.load_model(model, load_external_data=False)
        else:
            found = onnx.load_model_from_string(bytes(content))
    except _DAMAGED as error:
        what = "the bytes" if isinstance(model, bytes) else repr(os.fspath(model))
        raise ModelError(f"{what} cannot be read as an ONNX model: {_first_line(error)}") from error
    except OSError as error:
        raise ModelError(f"{os.fspath(model)!r} cannot be read: {error.strerror or error}") from error
    folder = str(Path(os.fspath(model)).resolve().parent)
    beside = list(_external(found))
    for tensor in beside:
        _load_external(tensor, folder)
    return found, bool(beside)


def _without_external_data(model: ModelProto) -> ModelProto:
    for tensor in _external(model):
        raise ModelError(
            f"the data of tensor {shown(tensor.name)!r} lies in a file; give the path of the model instead of its bytes"
        )
    return model


def _load_external(tensor: TensorProto, folder: str) -> None:
    try:
        _checked_size(tensor)
        load_external_data_for_tensor(tensor, folder)
    except (onnx.checker.ValidationError, OSError, RuntimeError, ValueError, NotSupported) as error:
        # RuntimeError: what the file system says to onnx's C++, of names that are too long
        place = "".join(entry.value for entry in tensor.external_data if entry.key == "location")
        raise ModelError(
            f"the external data of tensor {shown(tensor.name)!r} in {shown(place)!r} cannot be read: "
            f"{_first_line(error)}"
        ) from error


def _first_line(error: Exception) -> str:
    """What a library says is wrong, on one line."""
    line = next(iter(str(error).splitlines()), type(error).__name__)
    return line if line.isprintable() and len(line) <= _MAX_SAID else shown(line)


def _external(model: ModelProto) -> Iterator[TensorProto]:
    """The tensors whose data lies in files."""
    nodes = [node for function in model.functions for node in function.node]
    for tensor in (*_tensors(model.graph), *[t for node in nodes for t in _tensors_of_node(node)]):
        if tensor.data_location == TensorProto.EXTERNAL:
            yield tensor


def _tensors(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    for node in graph.node:
        yield from _tensors_of_node(node)


def _tensors_of_node(node: NodeProto) -> Iterator[TensorProto]:
    for attribute in node.attribute:
        yield from (attribute.t, *attribute.tensors)
        yield from (attribute.sparse_tensor.values, attribute.sparse_tensor.indices)
        for graph in (attribute.g, *attribute.graphs):
            yield from _tensors(graph)


def array_of(tensor: TensorProto) -> np.ndarray:
    """A tensor's array, read-only.

    Raises NotSupported for an element type that no tensor of ours can have, ModelError for dims that do not fit the
    data.
    """
    kind, raw = _checked(tensor)
    if raw is not None and kind.name in DTYPES and sys.byteorder == "little":
        array = np.frombuffer(raw, kind).reshape(tuple(tensor.dims))
    else:
        array = np.asarray(numpy_helper.to_array(tensor))
    if array.dtype == np.bool_:  # a byte that is neither 0 nor 1 is no bool
        array = array.view(np.uint8) != 0
    if array.flags.writeable:
        array.flags.writeable = False
    return array


def _checked(tensor: TensorProto) -> tuple[np.dtype[Any], bytes | None]:
    """The dtype of a tensor, and its raw data where it has some: asking a message for them copies them."""
    kind, size = _checked_size(tensor)
    name = f"tensor {shown(tensor.name)!r}"
    if tensor.HasField("segment"):
        raise NotSupported(f"{name} is a segment of another")
    narrow = narrow_dtype(kind)
    together = (
        1 if narrow is None else 8 // narrow.bits
    )  # of those of fewer than eight bits, several in a byte
    raw: bytes | None = tensor.raw_data if tensor.HasField("raw_data") else None
    if raw is not None:
        held, wanted, unit = len(raw), -(-size // together) * kind.itemsize, "bytes"
    else:
        field = helper.tensor_dtype_to_field(tensor.data_type)
        held, wanted, unit = len(getattr(tensor, field)), -(-size // together), "elements"
    if held != wanted:
        raise ModelError(
            f"{name} of dims {list(tensor.dims)} and dtype {kind} must hold {wanted} {unit}, found {held}"
        )
    return kind, raw


def _checked_size(tensor: TensorProto) -> tuple[np.dtype[Any], int]:
    """The dtype and the number of elements that a tensor says it has."""
    if tensor.data_type not in TensorProto.DataType.values() or tensor.data_type == TensorProto.UNDEFINED:
        raise ModelError(
            f"tensor {shown(tensor.name)!r}: the element type is {element_type_name(tensor.data_type)}"
        )
    if tensor.data_type == TensorProto.STRING:
        raise NotSupported("a tensor of strings")
    kind = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if kind.name not in DTYPES and narrow_dtype(kind) is None:
        raise NotSupported(f"element type {element_type_name(tensor.data_type)}")
    dims = tuple(tensor.dims)
    spending().check(dims, kind.itemsize)
    return kind, math.prod(dims)


def dense_of(sparse: SparseTensorProto) -> np.ndarray:
    """A sparse tensor's elements in a dense array, read-only. Raises NotSupported, ModelError like `array_of`."""
    values, indices = array_of(sparse.values), array_of(sparse.indices)
    dims = tuple(sparse.dims)
    name = f"sparse tensor {shown(sparse.values.name)!r}"
    spending().array(dims, values.itemsize)
    shapes = ((len(values),), (len(values), len(dims))) if values.ndim == 1 else ()
    if indices.shape not in shapes or indices.dtype != np.int64:
        raise ModelError(
            f"{name} of dims {list(dims)} has values of shape {list(values.shape)} and indices of shape "
            f"{list(indices.shape)} and dtype {indices.dtype}; expected [n] and int64 [n] or [n, {len(dims)}]"
        )
    bounds = np.array(math.prod(dims) if indices.ndim == 1 else dims, np.int64)
    if ((indices < 0) | (indices >= bounds)).any():
        raise ModelError(f"{name} of dims {list(dims)} has an index outside of them")
    dense = np.zeros(dims, values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    dense.flags.writeable = False
    return dense
