"""What a library is asked to have: a declared op with values of its attrs, for operands of some types.

Dims of the types that are open stand for any size, so that one entry serves all shapes of a rank.  In ONNX the op is a
node of the domain of its project, with the op's name and its attrs as attributes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np

from ...base.arith import dim
from ...base.errors import AttrError, ExecutorError, OpgenError
from ...base.vocabulary import DType, dataclass
from ...operator import AttrField, Dim, TensorType, value_text
from ...run.op_programs.programs import Declared, OperandType, Values, leaves, program_of

BUILT_IN: Final = "opgen"
"""The domain of the ops that are built in."""


class Kind(IntEnum):
    """How a node has an attribute."""

    ABSENT = 0
    INT = 1
    FLOAT = 2
    STRING = 3
    INTS = 4
    FLOATS = 5
    EMPTY = 6  # a list of no items, whose type nobody can see


KINDS: Final[Mapping[str, tuple[Kind, ...]]] = {
    "int": (Kind.INT,),
    "bool": (Kind.INT,),
    "float": (Kind.FLOAT,),
    "number": (Kind.INT, Kind.FLOAT),
    "str": (Kind.STRING,),
    "dtype": (Kind.INT,),
    "layout": (Kind.STRING,),
    "shape": (Kind.INTS, Kind.EMPTY),
    "ints": (Kind.INTS, Kind.EMPTY),
    "floats": (Kind.FLOATS, Kind.EMPTY),
}
"""The attributes that may give an attr of a kind: a dtype has its number, as ONNX has it in `TensorProto.DataType`.

A float that float32 would not hold may be a tensor of float64.  The C API shows custom ops no lists of strings.
"""


class Attribute(NamedTuple):
    """A value as a node has it, floats of 32 bits: its kind and its bytes."""

    kind: Kind
    content: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """One entry of a library.  `types`: one an operand; `values`: all attrs, normalised."""

    program: Declared
    types: tuple[OperandType, ...]
    values: Values

    @property
    def domain(self) -> str:
        return domain_of(self.program)

    @property
    def leaves(self) -> list[TensorType]:
        """The types of the tensors in order."""
        return list(leaves(self.types))

    @property
    def attributes(self) -> list[Attribute]:
        """The attrs as a node has them, in the declared order."""
        return [attribute(field, self.values[field.name]) for field in self.program.fields]

    def __str__(self) -> str:
        operands = [
            f"{operand.name}: {_operand_text(type_)}"
            for operand, type_ in zip(self.program.operands, self.types, strict=True)
        ]
        attrs = [f" {name}={value_text(value)}" for name, value in self.values.items()]
        return f"{self.program.name}({', '.join(operands)}){''.join(attrs)}"


def request(name: str, types: Sequence[OperandType], attrs: Values) -> Request:
    """A request for the op of that full name, with the defaults of attrs that are not given.

    Raises RegistryError for an op that is not there, AttrError for attrs that do not suit, ExecutorError for an op
    that onnxruntime cannot call, and what the type relation raises.
    """
    program = program_of(name)
    why_not = why_not_callable(program)
    if why_not is not None:
        raise ExecutorError(f"{program.name} cannot be an op of onnxruntime: {why_not}")
    values = program.normalised(attrs)
    for field in program.fields:
        attribute(field, values[field.name])
        if values[field.name] is None and field.default is not None:
            raise AttrError(
                f"{program.name}: attr {field.name!r} is None, which no node can say: "
                f"where the attribute is left out it is {value_text(field.default)}"
            )
    for operand, type_ in zip(program.operands, types, strict=False):
        if isinstance(type_, tuple) and len({leaf.dtype for leaf in type_}) > 1:
            raise ExecutorError(
                f"{program.name}: operand {operand.name!r} has tensors of several element types"
            )
    for leaf in (*leaves(types), *program.infer(types, values)):
        if not leaf.dtype.onnx:
            raise ExecutorError(f"{program.name}: ONNX has no element type {leaf.dtype}")
        if leaf.dtype.is_complex:
            raise ExecutorError(f"{program.name}: onnxruntime has no tensors of {leaf.dtype}")
    return Request(program, tuple(types), values)


def domain_of(program: Declared) -> str:
    """The domain of an op's nodes: its project, or that of the built-in ops."""
    return program.namespace or BUILT_IN


def why_not_callable(program: Declared) -> str | None:
    """Why no entry of an op can be written, whatever its operands and attrs are; None where it can."""
    if program.is_data_dependent:
        return "the size of a result depends on data, which onnxruntime must know before the op runs"
    several = [operand.kind == "several" for operand in program.operands]
    if any(several[:-1]):
        name = program.operands[several.index(True)].name
        return f"operand {name!r} takes several tensors, which only the last one can"
    for field in program.fields:
        if field.kind not in KINDS:
            return f"attr {field.name!r} is a list of strings, which the C API of onnxruntime does not show"
    return None


def attribute(field: AttrField, value: object) -> Attribute:
    """The value of an attr as a node has it.  Raises AttrError for one that no node can have."""
    if value is None:
        return Attribute(Kind.ABSENT, b"")
    kinds = KINDS[field.kind]
    try:
        if isinstance(value, tuple):
            return _list(kinds, value)
        if isinstance(value, DType):
            return Attribute(Kind.INT, struct.pack("<q", value.onnx))
        if isinstance(value, str):
            return Attribute(Kind.STRING, value.encode())
        if isinstance(value, bool | int):
            return Attribute(Kind.INT, struct.pack("<q", value))
        if isinstance(value, float):
            return Attribute(Kind.FLOAT, _floats((value,)))
    except struct.error:
        pass
    raise AttrError(f"attr {field.name!r} is {value_text(value)}, which no attribute of ONNX can be")


def _list(kinds: Sequence[Kind], value: tuple[object, ...]) -> Attribute:
    if not value:
        return Attribute(Kind.EMPTY, b"")
    if Kind.FLOATS in kinds:
        return Attribute(Kind.FLOATS, _floats(value))
    return Attribute(kinds[0], struct.pack(f"<{len(value)}q", *value))


def _floats(values: Sequence[object]) -> bytes:
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype("<f4").tobytes()


def open_type(name: str, ndim: int, dtype: DType | str) -> TensorType:
    """The type of an operand of that rank, of any size."""
    return TensorType([dim(f"{name}.shape[{axis}]") for axis in range(ndim)], dtype)


def as_open(program: Declared, types: Sequence[OperandType]) -> list[OperandType]:
    """Types of the same ranks, of any size."""

    def opened() -> Iterator[OperandType]:
        for operand, type_ in zip(program.operands, types, strict=True):
            if isinstance(type_, tuple):
                yield tuple([open_type(f"{operand.name}{k}", e.ndim, e.dtype) for k, e in enumerate(type_)])
            else:
                yield None if type_ is None else open_type(operand.name, type_.ndim, type_.dtype)

    return list(opened())


def first_that_suits(
    name: str, choices: Sequence[Sequence[OperandType]], attrs: Values
) -> tuple[list[Request], OpgenError | None]:
    """The requests of those types that the op takes with these attrs, and why the first of the others is refused."""
    found: list[Request] = []
    refused: OpgenError | None = None
    for types in choices:
        try:
            found.append(request(name, types, attrs))
        except OpgenError as error:
            refused = refused or error
    return found, refused


def _operand_text(type_: OperandType) -> str:
    if type_ is None:
        return "none"
    if isinstance(type_, tuple):
        return f"({', '.join(map(_operand_text, type_))})"
    return f"{type_.dtype}[{', '.join(map(_dim_text, type_.shape))}]"


def _dim_text(extent: Dim) -> str:
    if isinstance(extent, int):
        return str(extent)
    text = str(extent)
    return "?" if ".shape[" in text else text
