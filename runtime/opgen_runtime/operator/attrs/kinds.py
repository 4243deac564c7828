"""The kinds of an attr field: what each takes, and the one form in which its values are kept.

A kind is a row of `KINDS` here; the row of `opgen/document/kinds.py` adds how it is written and tried.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from ...base.arith import structural_equal, structural_hash
from ...base.arith.expr import Const, Expr
from ...base.errors import OpgenError, ParseError
from ...base.vocabulary import DTYPES, DType, dataclass
from .expressions import DimTable, ExpressionError, expression_from_json, expression_to_json
from .objects import AttrObject, ObjectError, fields_of, object_of_text, value_from_json, value_to_json

_LAYOUT: Final = re.compile(r"(?:[A-Z]|[1-9][0-9]*[a-z])+")
_OBJECT: Final = "a type without open dims, or attrs"


class KindError(ValueError):
    """A value that a kind does not take; the message says what is expected."""


def _whole(value: object) -> int:
    """An int that is known."""
    if isinstance(value, (bool, np.bool_)):
        raise KindError("an int")
    try:
        return operator.index(value)  # type: ignore[arg-type]  # what is no int raises, and is reported
    except TypeError:
        raise KindError("an int") from None


def _int(value: object) -> int | Expr:
    """An int, or an expression of symbolic dims that is one when the program runs."""
    if isinstance(value, Const):
        value = value.value
    return value if isinstance(value, Expr) and value.dtype.is_int else _whole(value)


def _float(value: object) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise KindError("a float")
    try:
        return float(value)
    except OverflowError:
        raise KindError("a float (the int is too large for one)") from None


def _number(value: object) -> int | float | Expr:
    """An int stays one, so that every integer is exact."""
    try:
        return _int(value)
    except KindError:
        pass
    try:
        return _float(value)
    except KindError:
        raise KindError("a number (an int or a float)") from None


def _bool(value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise KindError("a bool (True or False)")
    return bool(value)


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise KindError("a str")
    return str(value)


def _dtype(value: object) -> DType:
    if isinstance(value, np.dtype):
        value = value.name
    elif isinstance(value, type) and (issubclass(value, np.generic) or value is bool):
        value = np.dtype(value).name
    if isinstance(value, str) and value in DTYPES:
        return DType(value)
    raise KindError(f"a dtype (one of {', '.join(DTYPES)})")


def _layout(value: object) -> str:
    if not isinstance(value, str) or (value and _LAYOUT.fullmatch(value) is None):
        raise KindError("a layout such as 'NCHW' or 'NCHW16c'")
    return str(value)


def _object(value: object) -> AttrObject:
    """A type or attrs, or the text of one, about which everything is known."""
    if isinstance(value, str):
        try:
            value = object_of_text(value)
        except (ParseError, ObjectError) as error:
            raise KindError(f"{_OBJECT} ({error})") from None
    if not isinstance(value, AttrObject) or not value.is_value:
        raise KindError(_OBJECT)
    return value


def _anything(value: object) -> object:
    """A number, a text, None, an object, or a tuple of these."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple([_anything(item) for item in value])
    if isinstance(value, AttrObject):
        return _object(value)
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    try:
        found = _number(value)
    except KindError:
        found = None
    if found is None or isinstance(found, Expr):
        raise KindError("a number, a bool, a str, None, a type, attrs or a sequence of these")
    return found


def _same(value: object) -> object:
    return value


def _float_from_json(value: object) -> object:
    """JSON has no nan and no inf: they are texts there."""
    return float(str(value)) if value in ("nan", "inf", "-inf") else value


@dataclass(frozen=True, slots=True)
class AttrKind:
    """What values of one kind are.

    `expected`: in the words of messages.  `normalise`: a value, for a list kind an item of it, in the form that is
    kept; raises `KindError`.  `items`: of a list kind what callers may give, in words: a value that is no sequence
    stands for a list of one item.  `from_json`: a value, or an item, from what `to_json_value` wrote.  `has_objects`:
    values are known whole, and may be or hold objects (types, attrs).
    """

    expected: str
    normalise: Callable[[object], object]
    items: str | None = None
    from_json: Callable[[object], object] = _same
    has_objects: bool = False

    @property
    def is_list(self) -> bool:
        return self.items is not None

    def kept(self, value: object) -> object:
        """The one form of a value. Raises `KindError`, saying what is expected."""
        if self.items is None:
            return self.normalise(value)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, str) or not isinstance(value, Iterable):
            value = (value,)
        try:
            return tuple([self.normalise(item) for item in value])
        except KindError:
            raise KindError(f"{self.expected} ({self.items})") from None

    def to_json(self, value: object, dims: DimTable | None = None) -> object:
        """A JSON-able form of a value; `dims` by name, which is extended.  Raises `KindError` for two of one name."""
        return value_to_json(value) if self.has_objects else to_json_value(value, dims)

    def read_json(self, value: object, dims: DimTable | None = None) -> object:
        """The value that `to_json` wrote, before it is normalised; `dims` by name, which is extended."""
        if self.has_objects:
            try:
                return value_from_json(value)
            except (ObjectError, OpgenError, TypeError) as error:
                raise KindError(f"{self.expected}; {error}") from None
        dims = {} if dims is None else dims
        if isinstance(value, list):
            return [self.read_json(item, dims) for item in value]
        try:
            return self.from_json(expression_from_json(value, dims))
        except (ExpressionError, TypeError) as error:
            raise KindError(f"{self.expected}; {error}") from None


KINDS: Final[dict[str, AttrKind]] = {
    "int": AttrKind("an int", _int),
    "float": AttrKind("a float", _float, from_json=_float_from_json),
    "number": AttrKind("a number (an int or a float)", _number, from_json=_float_from_json),
    "bool": AttrKind("a bool (True or False)", _bool),
    "str": AttrKind("a str", _str),
    "dtype": AttrKind("a dtype", _dtype),
    "layout": AttrKind("a layout such as 'NCHW' or 'NCHW16c'", _layout),
    "shape": AttrKind("a shape", _int, "an int, or a sequence of ints and symbolic dims"),
    "ints": AttrKind("ints", _int, "an int or a sequence of ints"),
    "floats": AttrKind("floats", _float, "a float or a sequence of floats", _float_from_json),
    "strs": AttrKind("strs", _str, "a str or a sequence of strs"),
    "enum": AttrKind("a str", _str),
    "array": AttrKind(
        "an array",
        _anything,
        "numbers, bools, strs, None, types, attrs and sequences of these",
        has_objects=True,
    ),
    "object": AttrKind(_OBJECT, _object, has_objects=True),
}


def value_text(value: object, dim: Callable[[Expr], str] = str) -> str:
    """A normalised value as IR text prints it: `1`, `0.5`, `True`, `"NCHW"`, `[1, 2]`, `None`, `inf`, `n + 1`; objects
    as `object_text` says.

    `dim` writes expressions of symbolic dims.
    """
    if isinstance(value, tuple):
        return f"[{', '.join([value_text(item, dim) for item in value])}]"
    if isinstance(value, str):
        return json.dumps(str(value))
    if isinstance(value, Expr):
        return dim(value)
    return object_text(value) if isinstance(value, AttrObject) else repr(value)


def object_text(value: AttrObject) -> str:
    """`Tensor[(2, 3), float32]`, or the type key and the fields: `attrs.axis_abs(axis=1, indice=0)`."""
    listed = ", ".join([f"{name}={value_text(item)}" for name, _, item in fields_of(value)])
    return value.short_text or f"{value.type_key}({listed})"


class _SameExpr:
    """An expression as a key: equal where the same is computed of the same dims."""

    __slots__ = ("_hash", "expr")

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self._hash = structural_hash(expr)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameExpr) and structural_equal(self.expr, other.expr)

    def __hash__(self) -> int:
        return self._hash


def same_value_key(value: object) -> object:
    """A hashable key that is equal exactly for the same value: NaN equals itself, -0.0 is not 0.0, True is not 1."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, float):
        return ("nan",) if math.isnan(value) else (value, math.copysign(1.0, value))
    if isinstance(value, tuple):
        return tuple(map(same_value_key, value))
    return _SameExpr(value) if isinstance(value, Expr) and value.children() else value


def to_json_value(value: object, dims: DimTable | None = None) -> object:
    """A JSON-able form: tuples as lists, floats that JSON lacks as text, expressions of dims as operations.

    `dims`: those by name, which is extended.  Raises `KindError` for two dims of one name.
    """
    dims = {} if dims is None else dims
    if isinstance(value, tuple):
        return [to_json_value(item, dims) for item in value]
    if isinstance(value, Expr):
        try:
            return expression_to_json(value, dims)
        except ExpressionError as error:
            raise KindError(str(error)) from None
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value
