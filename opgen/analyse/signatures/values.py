"""Texts of attrs and test operands to values.  YAML's own idea of a value is never used."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from opgen_runtime.base.vocabulary import DTYPES

from ...document import TextNode
from ...model import AttrValue

LIST_KINDS: Final = frozenset({"shape", "ints", "floats", "strs"})
_INT = re.compile(r"[+-]?[0-9]{1,19}\Z")
_FLOAT = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?\Z")
_NULL: Final = frozenset({"null", "~"})
_NONE: Final = frozenset({"None", "none"}) | _NULL
_LAYOUT = re.compile(r"([A-Z]|[0-9]{1,4}[a-z])+\Z")
_LIMIT = r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?"
_OPERAND = re.compile(
    rf"(?P<dtype>[a-z]+[0-9]*)\[(?P<dims>[0-9, ]*)\](\s+in\s+(?P<low>{_LIMIT})\.\.(?P<high>{_LIMIT}))?\Z"
)
MAX_TEST_ELEMENTS: Final = 1 << 22
MAX_TEST_RANK: Final = 32  # numpy's own limit, before its second version


class ValueProblem(Exception):
    """The text does not suit; the message says what is expected."""


def parse_value(kind: str, texts: Sequence[TextNode], optional: bool) -> AttrValue:
    """The value of an attr of `kind`; None for a kind that was wrong (and reported).  Raises ValueProblem."""
    if not kind:
        return None
    if is_none(texts, optional, text=kind in ("str", "strs")):
        return None
    if kind in LIST_KINDS:
        element = {"shape": "int", "ints": "int", "floats": "float", "strs": "str"}[kind]
        parts = [text.value for text in texts]
        if len(parts) == 1 and kind != "strs":
            parts = [part for part in parts[0].strip("()[] ").split(",") if part.strip()]
        return tuple(_scalar(element, part.strip() if kind != "strs" else part) for part in parts)
    if len(texts) != 1:
        raise ValueProblem(f"expected one {kind}, found a list of {len(texts)}")
    return _scalar(kind, texts[0].value if kind == "str" else texts[0].value.strip())


def is_none(texts: Sequence[TextNode], optional: bool, text: bool = False) -> bool:
    """True of an unquoted `null`, `~`, `none` or `None`; with `text`, where a text may stand, of the first two.

    Raises ValueProblem where None is not admitted, and where `none` may mean either.
    """
    if len(texts) != 1 or texts[0].scalar.style or texts[0].value.strip() not in _NONE:
        return False
    shown = texts[0].value.strip()
    if text and shown not in _NULL:
        if optional:
            raise ValueProblem(f"`{shown}` may be None or a text here; write `null`, or quote it")
        return False
    if not optional:
        hint = "; quote it to mean the text" if text else ""
        raise ValueProblem(f"`{shown}` is None, which needs `optional: true`{hint}")
    return True


def _scalar(kind: str, text: str) -> AttrValue:
    shown = text[:40]
    if kind == "int":
        if _INT.match(text) is None or not -(2**63) <= int(text) < 2**63:
            raise ValueProblem(f"expected an int of 64 bits, found `{shown}`")
        return int(text)
    if kind == "number" and re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        return int(text)
    if kind in ("float", "number"):
        if text.lstrip("+-") in ("inf", "nan"):
            return -math.inf if text == "-inf" else float(text)
        if _FLOAT.match(text) is None:
            raise ValueProblem(f"expected a number, `inf` or `nan`, found `{shown}`")
        return float(text)
    if kind == "bool":
        if text.lower() not in ("true", "false"):
            raise ValueProblem(f"expected `true` or `false`, found `{shown}`")
        return text.lower() == "true"
    if kind == "dtype" and text not in DTYPES:
        raise ValueProblem(f"expected a dtype such as float32, found `{shown}`")
    if kind == "layout" and _LAYOUT.match(text) is None:
        raise ValueProblem(f"expected a layout such as NCHW, found `{shown}`")
    return text


def parse_operand(text: str) -> tuple[str, tuple[int, ...]]:
    """dtype and shape of `int32[4, 4, 1]` or `int64[3] in 0..4`.  Raises ValueProblem."""
    match = _OPERAND.match(text.strip())
    if match is None or match["dtype"] not in DTYPES:
        raise ValueProblem(f"expected `dtype[dims]` such as `int32[4, 4, 1]`, found `{text[:60]}`")
    parts = [part.strip() for part in match["dims"].split(",")]
    if parts == [""]:
        parts = []
    if any(not part or len(part) > 9 or " " in part for part in parts):
        raise ValueProblem(f"expected dims such as `[4, 4, 1]`, found `[{match['dims'][:60]}]`")
    shape = tuple(int(part) for part in parts)
    if len(shape) > MAX_TEST_RANK:
        raise ValueProblem(f"a test operand has at most {MAX_TEST_RANK} dims, found {len(shape)}")
    if math.prod(max(extent, 1) for extent in shape) > MAX_TEST_ELEMENTS:
        raise ValueProblem(f"a test has at most {MAX_TEST_ELEMENTS} elements an operand")
    if match["low"] is not None and float(match["low"]) >= float(match["high"]):
        raise ValueProblem(f"the range {match['low']}..{match['high']} is empty")
    return match["dtype"], shape


def normal_operand(text: str) -> str:
    """The text with single spaces."""
    dtype, shape = parse_operand(text)
    match = _OPERAND.match(text.strip())
    assert match is not None
    values = "" if match["low"] is None else f" in {match['low']}..{match['high']}"
    return f"{dtype}[{', '.join(map(str, shape))}]{values}"
