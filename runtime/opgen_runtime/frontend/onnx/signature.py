"""The inputs and outputs of a model: names, element types, dims; and arrays that fit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random import default_rng
from onnx import TensorProto, TypeProto, ValueInfoProto

from ...base.errors import CallError
from ...base.vocabulary import DType, dataclass
from ...ir import admit
from ...operator import Dim, TensorType, dim
from .element_types import dtype_of, kind_of
from .errors import ModelError, NotSupported, Unsupported, UnsupportedOperatorError, shown
from .graph import Model
from .limits import spending
from .narrow import NarrowArray, NarrowType, carried
from .texts import Texts, TextType, is_texts


@dataclass(frozen=True, slots=True)
class TensorInput:
    """A tensor: its dtype, and its dims (a name where it is dynamic, None where nothing is said) or None."""

    name: str
    dtype: DType | NarrowType | TextType
    dims: tuple[int | str | None, ...] | None

    def __str__(self) -> str:
        dims = "any shape"
        if self.dims is not None:
            dims = f"[{', '.join([str(d) if isinstance(d, int) else d or '?' for d in self.dims])}]"
        return f"{shown(self.name)}: {self.dtype} {dims}"

    def check(self, value: object) -> np.ndarray | NarrowArray | Texts:
        """The array, as the program takes it. Raises ModelError where dtype, rank or a dim differ."""
        array = admitted(self.name, value)
        is_strings = isinstance(self.dtype, TextType)
        if not (is_texts(array) if is_strings else array.dtype.name == str(self.dtype)):
            raise ModelError(f"input {self.name!r} must be {self.dtype}, found {array.dtype}")
        self._check_dims(array)
        if is_strings:
            return Texts.of(array)
        return NarrowArray(carried(array), self.dtype) if isinstance(self.dtype, NarrowType) else array

    @property
    def is_open(self) -> bool:
        """Whether its rank is known, and a dim is not."""
        return self.dims is not None and not all([isinstance(dim, int) for dim in self.dims])

    def open_type(self, dtype: DType, dims: dict[str, Dim], like: Sequence[int] | None = None) -> TensorType:
        """Its type with symbolic dims; those of one name are one, in `dims`.  `like`: extents to schedule for.

        Raises ModelError where not even the rank is known.
        """
        if self.dims is None:
            raise ModelError(f"input {self.name!r} has no rank; give its shape: load(model, shapes={{...}})")
        found: list[Dim] = []
        for position, extent in enumerate(self.dims):
            if isinstance(extent, int):
                found.append(extent)
            else:
                hint = None if like is None else like[position]
                own = f"{self.name}_{position}"
                name = (
                    extent if extent and any(map(str.isalnum, extent)) else own
                )  # some exporters call any dim `?`
                found.append(dims.setdefault(name, dim(name, hint)))
        return TensorType(found, dtype)

    def _check_dims(self, array: np.ndarray) -> None:
        if self.dims is None:
            return
        fits = array.ndim == len(self.dims) and all(
            not isinstance(own, int) or own == extent
            for own, extent in zip(self.dims, array.shape, strict=True)
        )
        if not fits:
            raise ModelError(f"input {self} is given an array of shape {array.shape}")


@dataclass(frozen=True, slots=True)
class SequenceInput:
    """A sequence of tensors, or where `optional` perhaps nothing."""

    name: str
    dtype: DType
    optional: bool

    def __str__(self) -> str:
        return f"{shown(self.name)}: {'optional' if self.optional else 'sequence'}"

    def check(self, value: object) -> object:
        if value is None and self.optional:
            return None
        if isinstance(value, list | tuple):
            return [self._item(item) for item in value]
        if not self.optional:
            raise ModelError(f"input {self.name!r} must be a list of arrays, found {type(value).__name__}")
        return self._item(value)

    def _item(self, value: object) -> np.ndarray:
        array = admitted(self.name, value)
        if array.dtype.name != self.dtype:
            raise ModelError(f"input {self.name!r} must hold {self.dtype}, found {array.dtype}")
        return array


def admitted(name: str, value: object) -> np.ndarray:
    """An array, one of another library, or numbers in lists."""
    try:
        if isinstance(value, list | tuple | bool | int | float):
            return np.asarray(value)
        return admit(value, f"input {name!r}")
    except (CallError, ValueError) as error:
        raise ModelError(f"input {name!r} is no array: {error}") from error


@dataclass(frozen=True, slots=True)
class Signature:
    """What a model takes, in order."""

    inputs: tuple[TensorInput | SequenceInput, ...]
    outputs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple([each.name for each in self.inputs])

    def bind(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
        """One value an input, in order, as the program takes it. Raises ModelError."""
        values = self.in_order(inputs)
        return [each.check(value) for each, value in zip(self.inputs, values, strict=True)]

    def in_order(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
        """One value an input, in order. Raises ModelError where one is missing or too many."""
        if isinstance(inputs, Mapping):
            unknown = [name for name in inputs if name not in self.names]
            missing = [name for name in self.names if name not in inputs]
            if unknown or missing:
                wrong = f"no input {unknown[0]!r}" if unknown else f"input {missing[0]!r} is not given"
                raise ModelError(f"{wrong}; the model's inputs are {', '.join(self.names) or 'none'}")
            return [inputs[name] for name in self.names]
        values = list(inputs)
        if len(values) != len(self.inputs):
            raise ModelError(
                f"the model has {len(self.inputs)} inputs ({', '.join(self.names)}), found {len(values)}"
            )
        return values


def signature_of(model: Model) -> Signature:
    """The signature of a model. Raises UnsupportedOperatorError for an input that no tensor of ours can be."""
    by_name = {value.name: value for value in model.graph.proto.input}
    wrong: list[Unsupported] = []
    inputs: list[TensorInput | SequenceInput] = []
    for name in model.graph.inputs:
        try:
            inputs.append(described(by_name[name]))
        except NotSupported as reason:
            wrong.append(Unsupported(shown(name), "input", str(reason)))
    if wrong:
        raise UnsupportedOperatorError(wrong)
    return Signature(tuple(inputs), model.graph.outputs)


def described(value: ValueInfoProto) -> TensorInput | SequenceInput:
    """A value of a graph. Raises NotSupported for one that no tensor of ours can be."""
    kind = value.type.WhichOneof("value")
    if kind == "tensor_type":
        tensor = value.type.tensor_type
        strings = tensor.elem_type == TensorProto.STRING
        return TensorInput(value.name, TextType() if strings else kind_of(tensor.elem_type), dims_of(tensor))
    if kind in ("sequence_type", "optional_type"):
        inner = value.type
        while inner.WhichOneof("value") in ("sequence_type", "optional_type"):
            inner = getattr(inner, str(inner.WhichOneof("value"))).elem_type
        if inner.WhichOneof("value") == "tensor_type":
            return SequenceInput(value.name, dtype_of(inner.tensor_type.elem_type), kind == "optional_type")
    raise NotSupported(f"an input of type {kind or 'unknown'}")


def dims_of(tensor: TypeProto.Tensor) -> tuple[int | str | None, ...] | None:
    """The dims: ints, names of dynamic ones, None for what is not said; None where even the rank is not said."""
    if not tensor.HasField("shape"):
        return None
    found: list[int | str | None] = []
    for each in tensor.shape.dim:
        kind = each.WhichOneof("value")
        if kind == "dim_value":
            found.append(
                each.dim_value if each.dim_value >= 0 else None
            )  # some exporters write -1 where it is open
        else:  # and some write one text, such as "?", for all dims that are open
            found.append(each.dim_param if each.dim_param.isidentifier() else None)
    return tuple(found)


def random_inputs(
    signature: Signature, seed: int, dims: Mapping[str, int] | None = None
) -> dict[str, np.ndarray]:
    """Random arrays for the tensors among the inputs: floats in -1..1, integers in 0..9.

    `dims` gives named dynamic dims their extents; those without one are 1.  Raises ModelError for an input of
    unknown rank.
    """
    random = default_rng(seed)
    found: dict[str, np.ndarray] = {}
    for each in signature.inputs:
        if not isinstance(each, TensorInput):
            continue
        if each.dims is None:
            raise ModelError(f"input {each.name!r} has no rank; give an array for it")
        if isinstance(each.dtype, TextType):
            raise ModelError(f"input {each.name!r} is of strings; give an array for it")
        shape = [d if isinstance(d, int) else (dims or {}).get(d or "", 1) for d in each.dims]
        spending().check(shape)
        if each.dtype.is_float:
            found[each.name] = random.uniform(-1, 1, shape).astype(each.dtype.numpy)
        else:
            found[each.name] = random.integers(0, 2 if each.dtype.is_bool else 10, shape).astype(
                each.dtype.numpy
            )
    return found


def open_types(signature: Signature, like: Sequence[np.ndarray]) -> list[TensorType]:
    """The types of inputs that are all tensors of numbers, with symbolic dims, to be scheduled for those of arrays."""
    dims: dict[str, Dim] = {}
    found: list[TensorType] = []
    for each, array in zip(signature.inputs, like, strict=True):
        assert isinstance(each, TensorInput)
        assert isinstance(each.dtype, DType)
        found.append(each.open_type(each.dtype, dims, array.shape))
    return found
