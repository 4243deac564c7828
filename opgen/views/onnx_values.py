"""What expressions stand for in an ONNX function."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from opgen_runtime.base.vocabulary import DTYPE_CLASSES, dataclass

TYPES: Final = {  # numbers of onnx.TensorProto
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16, "float8_e4m3fn": 17,
}  # fmt: skip
FLOATS: Final = frozenset(map(str, DTYPE_CLASSES["float"]))


class Refused(Exception):
    """Why an op is no ONNX function."""


@dataclass(frozen=True, slots=True)
class Static:
    """A value that is known: a number, a text, None, or a dtype by its name."""

    value: object


@dataclass(frozen=True, slots=True)
class Element:
    """An element for each position of the indices, as the name of a tensor that broadcasts to them.

    `weak`: a number that takes the dtype of what it meets.  `like`: an operand of its dtype, where that is no bool.
    """

    name: str
    weak: bool = False
    like: str | None = None
    is_bool: bool = False
    spans: frozenset[str] = frozenset()  # the indices that it has axes of


@dataclass(frozen=True, slots=True)
class Index:
    """An index: one, or the tuple of all leading ones."""

    name: str
    starred: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    node: ast.FunctionDef


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A static name that has no form here."""

    name: str


Value = Static | Element | Index | Definition | Unsaid


@dataclass(frozen=True, slots=True)
class Like:
    """A dtype: that of a tensor, or one by its name."""

    tensor: str
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """The indices that are open, `*leading` first, with what each loop runs over; and names bound beside them."""

    leading: str | None
    named: tuple[str, ...]
    extents: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tensor:
    """`dims`: what stands for each dim of its pattern; None of any shape.  A leading `*` is in `dims`, too."""

    name: str
    dims: tuple[str, ...] | None
    is_bool: bool
    like: str | None


def groups_of(starred: Sequence[str]) -> set[str]:
    """The leading dims that something read must have: `*broadcast(A, B)` are those of both."""
    found: set[str] = set()
    for text in starred:
        inner = ast.parse(text.removeprefix("*"), mode="eval").body
        is_joint = isinstance(inner, ast.Call) and ast.unparse(inner.func) == "broadcast"
        found |= (
            {f"*{ast.unparse(each)}" for each in inner.args}
            if is_joint and isinstance(inner, ast.Call)
            else {text}
        )
    return found


def entries(index: ast.expr) -> list[ast.expr]:
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def type_number(dtype: str) -> int:
    if dtype not in TYPES:
        raise Refused(f"ONNX has no {dtype}")
    return TYPES[dtype]


def attribute_text(value: int | float | str | tuple[int, ...]) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def folded(operator: ast.operator, left: object, right: object) -> object:
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        raise Refused("static values that are no numbers")
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() if right:
            return left / right
        case ast.Pow():
            return left**right
    raise Refused("static arithmetic that has no form here")
