"""The parts of the text form: types, dims, constants, names."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from ..base.arith.expr import AnyDim, Binary, Compare, Const, Dim, Not, Select
from ..base.arith.expr import Var as DimVar
from ..base.vocabulary import DTYPES, DType, is_float_array
from ..operator import FuncType, IncompleteType, TensorType, TupleType, Type, TypeVar
from .expr import Constant

KEYWORDS: Final = frozenset(
    ["let", "fn", "if", "else", "def", "free_var", "meta", "const", "True", "False", "None"]
)
SUFFIXES: Final = {
    name: {"int32": "", "float32": "f"}.get(name)
    or ("" if name in ("int32", "bool") else re.sub("uint|int|float|complex", lambda m: m[0][0], name))
    for name in DTYPES
}
"""dtype -> what follows a scalar of that dtype: `3`, `3f`, `3i64`, `0.5f16`; bools are words."""
INFIX: Final = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "floormod": "%"}
SECTION: Final = "#[constants]"
_INLINE_ELEMENTS = 16
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")


def op_text(name: str) -> str:
    """An op's name; in backquotes where it is a word of the text form."""
    return name if _NAME.fullmatch(name) and name not in KEYWORDS else f"`{name}`"


class Names:
    """Unique names by object: the hint, or the hint with `_<number>`."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._next: dict[str, int] = {}
        self._taken: set[str] = set()
        self._alive: list[object] = []

    def of(self, owner: object, hint: str, sigil: str = "") -> str:
        found = self._names.get(id(owner))
        if found is None:
            base = name = _NOT_IN_NAMES.sub("_", hint) or "v"
            if base[0].isdigit():
                base = name = f"v{base}"
            while name in self._taken or name in KEYWORDS:
                number = self._next[base] = self._next.get(base, 0) + 1
                name = f"{base}_{number}"
            self._taken.add(name)
            self._alive.append(owner)
            found = self._names[id(owner)] = sigil + name
        return found


class TypePrinter:
    """Types as text, with symbolic dims and type parameters named apart."""

    def __init__(self) -> None:
        self._dims = Names()
        self._type_vars = Names()

    def text(self, type_: Type) -> str:
        if isinstance(type_, TensorType):
            dims = [self.dim(d) for d in type_.shape]
            return f"Tensor[({', '.join(dims)}{',' if len(dims) == 1 else ''}), {type_.dtype}]"
        if isinstance(type_, TupleType):
            fields = [self.text(f) for f in type_.fields]
            return f"({', '.join(fields)}{',' if len(fields) == 1 else ''})"
        if isinstance(type_, FuncType):
            generic = self.type_params(type_.type_params)
            return f"fn{generic}({', '.join([self.text(p) for p in type_.params])}) -> {self.text(type_.ret)}"
        if isinstance(type_, IncompleteType):
            return "?"
        assert isinstance(type_, TypeVar), f"a {type(type_).__name__} has no text form"
        return self._type_vars.of(type_, type_.name)

    def type_params(self, params: Sequence[TypeVar]) -> str:
        """`[A, B]`, or nothing."""
        return f"[{', '.join(map(self.text, params))}]" if params else ""

    def dim(self, dim: Dim) -> str:
        """`3`, `n`, `?`, `(n + 1)`, `min(n, m)`."""
        if isinstance(dim, int):
            return str(dim)
        if isinstance(dim, AnyDim):
            return "?"
        if isinstance(dim, DimVar):
            return self._dims.of(dim, dim.name)
        if isinstance(dim, Const):
            return str(int(dim.value))
        if isinstance(dim, Binary) and dim.op in INFIX:
            return f"({self.dim(dim.a)} {INFIX[dim.op]} {self.dim(dim.b)})"
        if isinstance(dim, Binary | Compare):
            return f"{dim.op}({self.dim(dim.a)}, {self.dim(dim.b)})"
        if isinstance(dim, Not):
            return f"not({self.dim(dim.a)})"
        if isinstance(dim, Select):
            return f"select({', '.join([self.dim(e) for e in dim.children()])})"
        raise AssertionError(f"a dim of class {type(dim).__name__} has no text form")


class ConstantSection:
    """Constants as text: small ones in place, others as `meta[<number>]` with the data after the program."""

    def __init__(self) -> None:
        self._large: list[np.ndarray] = []

    def text(self, constant: Constant) -> str:
        data = constant.data
        if data.size > _INLINE_ELEMENTS or not _readable(data) or data.dtype.kind == "c":
            self._large.append(data)
            return f"meta[{len(self._large) - 1}]"
        if data.ndim == 0:
            return _scalar(data) + SUFFIXES[data.dtype.name]
        shape = "" if data.size else f", shape={list(data.shape)}"
        return f"const({_nested(data)}, {data.dtype.name}{shape})"

    def lines(self) -> list[str]:
        """The section that follows the program; empty when every constant is in place."""
        listed = [
            {
                "dtype": data.dtype.name,
                "shape": list(data.shape),
                "data": base64.b64encode(data.astype(data.dtype.newbyteorder("<")).tobytes()).decode("ascii"),
            }
            for data in self._large
        ]
        return ["", SECTION, *[json.dumps(entry) for entry in listed]] if listed else []


def constant_from_json(entry: dict[str, object]) -> Constant:
    """The constant of one line of the section. Raises ValueError or KeyError if it is damaged."""
    dtype = DType(str(entry["dtype"])).numpy
    raw = base64.b64decode(str(entry["data"]), validate=True)
    shape = entry["shape"]
    if not isinstance(shape, list):
        raise ValueError("the shape is not a list")
    return Constant(np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype).reshape(shape))


def _scalar(data: np.ndarray) -> str:
    """The shortest decimal that reads back as the one element; `nan`, `inf`, `-inf` by name."""
    return str(data[()])


def _nested(data: np.ndarray) -> str:
    if data.ndim == 0:
        return _scalar(data)
    return f"[{', '.join([_nested(np.asarray(row)) for row in data])}]"


def _readable(data: np.ndarray) -> bool:
    """Whether decimals say all: not so for a NaN with a payload or a sign of its own."""
    if not is_float_array(data.dtype):
        return True
    nans = data[np.isnan(data)]
    return bool(nans.tobytes() == np.full_like(nans, np.nan).tobytes())
