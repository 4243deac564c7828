"""The nodes of one graph of a model that is written, and what all graphs of the model share.

A writer of an op says what it is in ONNX's operators:

    to("Relu", x)                            a node; its result
    to("Cast", x, to=1, gives="float32")     `gives`: the dtype of the result, where the first input has another
    to.several("TopK", x, k, gives=("float32", "int64"), axis=1)

Each node is held against the schema of its operator at the opset that is written; what the schema has no place for
raises NoStandard, and the call that was being written becomes a node of its op's own domain.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, helper

from ....base.arith.expr import Var
from ....base.vocabulary import DType, dataclass
from ....operator import Dim, TensorType
from ..element_types import element_type_of
from ..schemas import schema_of, why_bad_types

_MAX_SHARED: Final = 64  # elements of a constant that is one initializer wherever its value is needed


class NoStandard(Exception):
    """Raised by a writer: ONNX's operators do not say this call."""


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A name of a graph.  `shape`: where it is known; `array`: the value, where it is constant."""

    name: str
    dtype: DType
    shape: tuple[Dim, ...] | None = None
    array: np.ndarray | None = None

    @property
    def ndim(self) -> int:
        """Raises NoStandard where it is not known."""
        return len(self.dims)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """Raises NoStandard where they are not known."""
        if self.shape is None:
            raise NoStandard("a shape is not known")
        return self.shape

    def extent(self, axis: int) -> int:
        """The extent of an axis. Raises NoStandard where it is open."""
        found = self.dims[axis]
        if not isinstance(found, int):
            raise NoStandard(f"the extent {found} is open")
        return found


Operand: TypeAlias = "Value | np.ndarray | None"
"""An input of a node: an array becomes a constant."""


class Names:
    """What the graphs of a model share: names that are taken, and constants."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.arrays: dict[str, np.ndarray] = {}
        self.places: dict[Var, tuple[Value, int]] = {}  # which axis of which input an open dim is
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        self._known: dict[tuple[str, tuple[int, ...], bytes], Value] = {}

    def fresh(self, hint: str) -> str:
        """A name that nothing else has: the hint, where that is free."""
        name = hint
        while not name or name in self._taken:
            self._counts[hint] = self._counts.get(hint, 0) + 1
            name = f"{hint}_{self._counts[hint]}"
        self._taken.add(name)
        return name

    def learn(self, value: Value, type_: TensorType) -> None:
        """The open dims of an input."""
        for axis, dim in enumerate(type_.shape):
            if isinstance(dim, Var):
                self.places.setdefault(dim, (value, axis))

    def constant(self, array: np.ndarray, hint: str = "constant") -> Value:
        """An initializer; small ones of one value are one."""
        key = (array.dtype.name, array.shape, array.tobytes()) if array.size <= _MAX_SHARED else None
        if key is not None and key in self._known:
            return self._known[key]
        made = self.weight(array, hint)
        if key is not None:
            self._known[key] = made
        return made

    def weight(self, array: np.ndarray, hint: str) -> Value:
        """An initializer of its own.  Raises ModelError for a dtype that ONNX lacks."""
        dtype = DType(array.dtype.name)
        element_type_of(dtype)
        name = self.fresh(hint)
        self.arrays[name] = array
        return Value(name, dtype, array.shape, array)


def tensor_proto(array: np.ndarray, name: str = "") -> TensorProto:
    """An array as ONNX's tensor."""
    made = TensorProto(name=name, dims=array.shape, data_type=element_type_of(array.dtype.name))
    little = array if sys.byteorder == "little" or array.dtype.itemsize == 1 else array.byteswap()
    made.raw_data = np.ascontiguousarray(little).tobytes()
    return made


def attribute_proto(name: str, value: Any) -> AttributeProto:
    """An attribute: an int (a bool is one), a float, a str, a tuple of one of them, or an array."""
    made = AttributeProto(name=name)
    if isinstance(value, np.ndarray):
        made.type = AttributeProto.TENSOR
        made.t.CopyFrom(tensor_proto(value))
    elif isinstance(value, tuple):
        if value and isinstance(value[0], str):
            made.type = AttributeProto.STRINGS
            made.strings.extend([each.encode() for each in value])
        elif any([isinstance(each, float) for each in value]):
            made.type = AttributeProto.FLOATS
            made.floats.extend([float(each) for each in value])
        else:
            made.type = AttributeProto.INTS
            made.ints.extend([int(each) for each in value])
    else:
        made = helper.make_attribute(name, int(value) if isinstance(value, bool) else value)
    return made


class Nodes:
    """The nodes of one graph so far.  `types`: of the results of the call that is being written."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.protos: list[NodeProto] = []
        self.types: tuple[TensorType, ...] = ()
        self.hint = "value"

    @property
    def opset(self) -> int:
        return self.names.opset

    def __call__(
        self, operator: str, *operands: Operand, gives: str | None = None, **attributes: Any
    ) -> Value:
        """A node with one result, whose dtype is `gives`, or that of the first operand."""
        values = self._values(operands)
        if gives is None:
            gives = next(each.dtype for each in values if each is not None)
        return self._node(operator, values, (gives,), attributes)[0]

    def several(
        self, operator: str, *operands: Operand, gives: Sequence[str], **attributes: Any
    ) -> tuple[Value, ...]:
        """A node with results of these dtypes."""
        return self._node(operator, self._values(operands), gives, attributes)

    def ints(self, *values: int) -> Value:
        """A constant of int64 with one axis."""
        return self.names.constant(np.asarray(values, np.int64))

    def number(self, value: float, dtype: str) -> Value:
        """A constant without axes.  Raises NoStandard for a number that the dtype does not hold exactly."""
        kind = DType(dtype)
        if kind.is_int and not (
            value == value and value == int(value) and kind.lowest <= value <= kind.highest
        ):
            raise NoStandard(f"{value} is no {dtype}")
        return self.names.constant(np.asarray(value, kind.numpy))

    def add(self, proto: NodeProto) -> None:
        """A node as it is."""
        self.protos.append(proto)

    def _values(self, operands: Sequence[Operand]) -> list[Value | None]:
        found = [self.names.constant(each) if isinstance(each, np.ndarray) else each for each in operands]
        while found and found[-1] is None:
            found.pop()
        return found

    def _node(
        self, operator: str, values: Sequence[Value | None], gives: Sequence[str], attributes: dict[str, Any]
    ) -> tuple[Value, ...]:
        given = {name: value for name, value in attributes.items() if value is not None}
        self._hold_against_schema(operator, values, given, len(gives))
        outputs = [self.names.fresh(self.hint) for _ in gives]
        inputs = ["" if each is None else each.name for each in values]
        proto = NodeProto(op_type=operator, input=inputs, output=outputs, name=outputs[0])
        proto.attribute.extend([attribute_proto(name, value) for name, value in given.items()])
        self.protos.append(proto)
        return tuple([Value(name, DType(dtype)) for name, dtype in zip(outputs, gives, strict=True)])

    def _hold_against_schema(
        self, operator: str, values: Sequence[Value | None], attributes: dict[str, Any], count: int
    ) -> None:
        schema = schema_of("", operator, self.opset)
        if schema is None:
            raise NoStandard(f"{operator} is no operator of opset {self.opset}")
        unknown = [name for name in attributes if name not in schema.attributes]
        if unknown:
            raise NoStandard(f"{operator} has no attribute {unknown[0]!r} at opset {self.opset}")
        if not schema.min_input <= len(values) <= schema.max_input or count > schema.max_output:
            raise NoStandard(f"{operator} does not take {len(values)} inputs at opset {self.opset}")
        types = [None if each is None else TensorType((), each.dtype) for each in values]
        reason = why_bad_types("", operator, self.opset, types)
        if reason is not None:
            raise NoStandard(f"{operator}: {reason}")
