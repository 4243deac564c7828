"""How attrs of each kind are written in declarations, annotated in Python, and tried.

What a kind is (its values, and what callers may give) is a row of the runtime's table, `operator/attrs/kinds.py`; the
rows here have its names.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

from opgen_runtime.base.vocabulary import DTYPE_CLASSES, DTYPES, dataclass
from opgen_runtime.operator import TensorType
from opgen_runtime.operator.attrs import KINDS as VALUES
from opgen_runtime.operator.attrs import AttrObject, KindError

AttrValue = bool | int | float | str | AttrObject | None | tuple["AttrValue", ...]
"""The value of an attr: what the declaration's default or a test gives.  dtypes and layouts are str."""

_INT: Final = re.compile(r"[+-]?[0-9]{1,19}\Z")
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,20}\Z")
_FLOAT: Final = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?\Z")


class ValueProblem(Exception):
    """The text does not suit; the message says what is expected."""


def _int(text: str) -> int:
    if _INT.match(text) is None or not -(2**63) <= int(text) < 2**63:
        raise ValueProblem(f"expected an int of 64 bits, found `{text[:40]}`")
    return int(text)


def _float(text: str) -> float:
    if text.lstrip("+-") in ("inf", "nan"):
        return -math.inf if text == "-inf" else float(text)
    if _FLOAT.match(text) is None:
        raise ValueProblem(f"expected a number, `inf` or `nan`, found `{text[:40]}`")
    return float(text)


def _number(text: str) -> int | float:
    return int(text) if _WHOLE.match(text) else _float(text)


def _bool(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueProblem(f"expected `true` or `false`, found `{text[:40]}`")
    return text.lower() == "true"


def _dtype(text: str) -> str:
    if text not in DTYPES:
        raise ValueProblem(f"expected a dtype such as float32, found `{text[:40]}`")
    return text


def _layout(text: str) -> str:
    try:
        return str(VALUES["layout"].kept(text))
    except KindError:
        raise ValueProblem(f"expected a layout such as NCHW, found `{text[:40]}`") from None


def _item(text: str) -> AttrValue:
    """A number, a bool or None where the text is that of one, else the text."""
    if text in ("null", "~"):
        return None
    for parse in (_number, _bool):
        try:
            return parse(text)
        except ValueProblem:
            pass
    return text


def _object(text: str) -> AttrObject:
    try:
        found = VALUES["object"].kept(text)
    except KindError as error:
        raise ValueProblem(f"expected {error}, found `{text[:80]}`") from None
    assert isinstance(found, AttrObject)
    return found


def _nothing(given: Any) -> tuple[AttrValue, ...]:
    return ()


def _near_number(given: Any) -> tuple[AttrValue, ...]:
    return () if given is None else (given + 1.5, given / 2)


@dataclass(frozen=True, slots=True)
class WrittenKind:
    """What the generator does with attrs of one kind.

    `parse`: the value that a text means, of a list kind an item of it; raises ValueProblem.
    `field`: the annotation of a field, `parameter`: of what a caller may give.
    `example`: a default, as `add-op` writes it.
    `samples`: values of an attr that has no default; `starts`: those from which the ends of its bounds are looked for.
    `near`: other values to try, from the one that a case gives, of an attr without choices.
    `is_position`: ints that may index something: they are tried at the ends of their bounds and beyond.
    `is_text`: any text is a value: spaces, commas and the word `none` too.  `has_fields`: values are objects, of which
    `.name` is a field.  `stated`: what else `add-op` writes of an attr.
    """

    parse: Callable[[str], AttrValue]
    field: str
    parameter: str
    example: str
    samples: tuple[AttrValue, ...]
    starts: tuple[AttrValue, ...] = ()
    near: Callable[[Any], tuple[AttrValue, ...]] = _nothing
    is_position: bool = False
    is_text: bool = False
    has_fields: bool = False
    stated: str = ""

    @property
    def is_number(self) -> bool:
        """Whether a value can be added to elements."""
        value = self.samples[0]
        return isinstance(value, int | float) and not isinstance(value, bool)


_SAMPLE: Final = TensorType((2, 3), "float32")
KINDS: Final[dict[str, WrittenKind]] = {
    "int": WrittenKind(
        _int, "int", "int", "1", (1, 0, 2), (1, 0, 2, -1),
        near=lambda given: () if given is None else (-1, given + 1), is_position=True,
    ),
    "float": WrittenKind(
        _float, "float", "float", "1.0", (0.5, 1.0), (1.0, 0.5, 0.0, -1.0), near=_near_number
    ),
    "number": WrittenKind(
        _number, "int | float", "int | float", "1", (1, 0.5), (1, 0, 2, -1), near=_near_number
    ),
    "bool": WrittenKind(_bool, "bool", "bool", "false", (False, True), near=lambda given: (not given,)),
    "str": WrittenKind(str, "str", "str", "none", ("",), is_text=True),
    "dtype": WrittenKind(_dtype, "str", "str", "float32", DTYPE_CLASSES["float"][-2:]),
    "layout": WrittenKind(_layout, "str", "str", "NCHW", ("NCHW",)),
    "shape": WrittenKind(
        _int, "tuple[int, ...]", "int | _d.Sequence[_d.Dim]", "[1]", ((3, 4), (12,)), ((1,), (1, 1), (1, 1, 1))
    ),
    "ints": WrittenKind(
        _int, "tuple[int, ...]", "int | _d.Sequence[int]", "[0]",
        ((0,), (1, 0), (1, 1)), ((1,), (0,), (1, 1), (0, 1), (1, 1, 1), (0, 1, 2)),
        near=lambda given: ((0,), (-1,), (0, -1), ()), is_position=True,
    ),
    "floats": WrittenKind(
        _float, "tuple[float, ...]", "float | _d.Sequence[float]", "[1.0]",
        ((0.5,),), ((1.0,), (0.5,), (1.0, 1.0), (1.0, 1.0, 1.0)),
    ),
    "strs": WrittenKind(
        str, "tuple[str, ...]", "str | _d.Sequence[str]", "[none]", (("",),), is_text=True
    ),
    "enum": WrittenKind(str, "str", "str", "first", ("",), is_text=True, stated="values: [first, second]"),
    "array": WrittenKind(
        _item, "tuple[_d.Any, ...]", "_d.Any", "[1, two]", ((1, 0.5, True, "two"),), ((1,), (1, 1)),
    ),
    "object": WrittenKind(
        _object, "_d.Any", "_d.Any", json.dumps(str(_SAMPLE)), (_SAMPLE, TensorType((), "int64")), has_fields=True
    ),
}  # fmt: skip


def parse_texts(kind: str, texts: list[str]) -> AttrValue:
    """The value that one text means, or several, of a list kind.  Raises ValueProblem."""
    row = KINDS[kind]
    if not VALUES[kind].is_list:
        if len(texts) != 1:
            raise ValueProblem(f"expected one {kind}, found a list of {len(texts)}")
        return row.parse(texts[0] if row.is_text else texts[0].strip())
    if len(texts) == 1 and not row.is_text:
        texts = [part for part in texts[0].strip("()[] ").split(",") if part.strip()]
    return tuple([row.parse(text if row.is_text else text.strip()) for text in texts])
