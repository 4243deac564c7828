"""Calls as one line of text each, as the tables of generated suites hold them.

    data=float32[2,3], index=int64[3] in 0..2, rest=(float32[2], int8[2]), axis=(0, 1), mode="wrap"

An operand has the form of its tensor, with what its values are (`float64[5] sorted in 0..9`; a variadic one a tuple
of them, an absent one none), an attr that of a Python literal (`inf` and `nan` too).  What a table says beside the call
stands after an arrow, `-> DTypeError`, or, in a table of bounds, between the values inside and outside: `axis=0|-1`.
A line that is indented deeper goes on with the one before.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..base.errors import OpgenError
from ..base.vocabulary import dataclass
from ..declaration.operands import WORDS
from .cases import Case, Inferred, InputSpec, Probe
from .data import Spec

NOTHING: Final = "()"  # a call without operands and attrs
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_VALUES: Final = re.compile(
    rf"({_STRING})|\]((?:\s+(?:{'|'.join(WORDS)})\b)*)(?:\s*in\s+([^\s,]+?)\.\.([^\s,)]+))?"
)
_NO_EXTENTS: Final = re.compile(rf"({_STRING})|\[\s*\]")
_ARROW: Final = re.compile(rf"((?:{_STRING}|[^\"])*?)->(.*)", re.DOTALL)
_ALONE, _TOGETHER = "alone", "together"
_CONSTANTS: Final = {"inf": math.inf, "nan": math.nan}


class LineError(OpgenError, ValueError):
    """A line of a table that is no call; names the line and what was expected."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """The text of a spec."""

    text: str


@dataclass(frozen=True, slots=True)
class Ends:
    """The values on both sides of an end of a bound."""

    inside: Any
    outside: Any


Value: TypeAlias = Any  # a Tensor, a tuple of them, Ends, or a literal


@dataclass(frozen=True, slots=True)
class Line:
    """What a line says: values by name, and what stands after the arrow ("" for nothing)."""

    text: str
    number: int  # in the table's text, from 0
    values: Mapping[str, Value]
    result: str

    def wrong(self, what: str) -> LineError:
        return LineError(f"{what}, in the line `{self.text}`")


def parse_line(text: str, number: int = 0) -> Line:
    """Raises LineError for text of another form."""
    match = _ARROW.fullmatch(text)
    call, result = (text, "") if match is None else (match[1], match[2].strip())
    source = _VALUES.sub(_as_python, call)
    source = _NO_EXTENTS.sub(lambda m: m[1] or "[()]", source)
    try:
        node = ast.parse(f"_({source.strip()})", mode="eval").body
    except (SyntaxError, ValueError):
        node = None
    expected = "expected `name=value, ...`, such as `data=float32[2,3], axis=1`"
    if call.strip() == NOTHING:
        return Line(text, number, {}, result)
    if not isinstance(node, ast.Call) or node.args or any(each.arg is None for each in node.keywords):
        raise LineError(f"{expected}, found `{text}`")
    names = [str(each.arg) for each in node.keywords]
    values = {str(each.arg): _value(each.value, str(each.arg), text) for each in node.keywords}
    if len(values) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise LineError(f"`{twice}` is given twice, in the line `{text}`")
    return Line(text, number, values, result)


def _as_python(found: re.Match[str]) -> str:
    """What is said of a tensor's values as a comparison with a tuple of words, the low end and the high one."""
    if found[1] or not (found[2] or found[3]):
        return found[0]
    return f"] in ({found[2]!r}, {found[3] or ''!r}, {found[4] or ''!r})"


def table_lines(table: str) -> Iterator[tuple[int, str]]:
    """Each line of a table with its number, those that go on joined to it by one space."""
    found: list[tuple[int, str]] = []
    margin: int | None = None
    for number, line in enumerate(table.split("\n")):
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip(" "):
            continue
        margin = indent if margin is None else margin
        if indent > margin and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip(' ')}")
        else:
            found.append((number, line.strip(" ")))
    yield from found


def parse_cases(name: str, table: str, inputs: Sequence[str]) -> tuple[Case, ...]:
    """The cases of the table `name` of a suite for an op with these inputs.  Raises LineError."""
    return tuple([_case(line, name, inputs, _inferred(line)) for line in _lines(table)])


def parse_refusals(name: str, table: str, inputs: Sequence[str]) -> tuple[tuple[Case, str], ...]:
    """The cases that are refused, each with the name of the error.  Raises LineError."""
    found: list[tuple[Case, str]] = []
    for line in _lines(table):
        if not line.result.isidentifier():
            raise line.wrong("expected the error of the refusal, such as `-> DTypeError`")
        found.append((_case(line, name, inputs), line.result))
    return tuple(found)


def parse_probes(name: str, table: str, inputs: Sequence[str]) -> tuple[Probe, ...]:
    """The probes of bounds: of each line the attr with `inside|outside`.  Raises LineError."""
    found: list[Probe] = []
    for line in _lines(table):
        ends = [attr for attr, value in line.values.items() if isinstance(value, Ends)]
        if len(ends) != 1:
            raise line.wrong(
                "expected one attr with the values inside and outside its bound, such as `axis=0|-1`"
            )
        if line.result not in ("", "refused"):
            raise line.wrong(f"expected nothing or `refused` after the arrow, found `{line.result}`")
        both = line.values[ends[0]]
        rest = Line(line.text, line.number, {**line.values, ends[0]: both.inside}, "")
        case = _case(rest, name, inputs)
        found.append(Probe(case, ends[0], both.inside, both.outside, not line.result, (name, line.number)))
    return tuple(found)


def parse_fields(table: str) -> dict[str, str]:
    """Attr -> type text, from lines such as `axis: int, default=0, 0 <= axis`.  Raises LineError."""
    found: dict[str, str] = {}
    for _, line in table_lines(table):
        name, colon, text = line.partition(": ")
        if not colon:
            raise LineError(f"expected `attr: type text`, found `{line}`")
        found[name] = text
    return found


def _lines(table: str) -> list[Line]:
    return [parse_line(text, number) for number, text in table_lines(table)]


def _case(line: Line, table: str, inputs: Sequence[str], inferred: Inferred | None = None) -> Case:
    operands = {name: _operand(line, name, line.values.get(name)) for name in inputs}
    attrs = {name: value for name, value in line.values.items() if name not in operands}
    for name, value in attrs.items():
        if isinstance(value, Tensor | Ends) or _are_tensors(value):
            what = (
                "has two values"
                if isinstance(value, Ends)
                else f"is no input; the inputs are {', '.join(inputs)}"
            )
            raise line.wrong(f"`{name}` {what}")
    return Case(operands, attrs, inferred, (table, line.number))


def _operand(line: Line, name: str, value: Value) -> InputSpec:
    if value is None:
        return None
    if isinstance(value, Tensor):
        return value.text
    if value == () or _are_tensors(value):
        return tuple([each.text for each in value])
    raise line.wrong(f"`{name}` is an input; expected a tensor such as `float32[2,3]`, or a tuple of them")


def _inferred(line: Line) -> Inferred | None:
    """What follows of the operands: `-> alone x, w; together r`."""
    if not line.result:
        return None
    found: dict[str, tuple[str, ...]] = {}
    for part in line.result.split(";"):
        kind, _, names = part.strip().partition(" ")
        if kind not in (_ALONE, _TOGETHER):
            raise line.wrong(f"expected `-> {_ALONE} x; {_TOGETHER} y` for what follows of the operands")
        found[kind] = tuple([name.strip() for name in names.split(",") if name.strip()])
    return Inferred(found.get(_ALONE, ()), found.get(_TOGETHER, ()))


def _are_tensors(value: Value) -> bool:
    return isinstance(value, tuple) and bool(value) and all([isinstance(each, Tensor) for each in value])


def _value(node: ast.expr, name: str, text: str) -> Value:
    match node:
        case ast.Subscript() | ast.Compare():
            return Tensor(_spec(node, name, text))
        case ast.BinOp(op=ast.BitOr(), left=inside, right=outside):
            return Ends(_value(inside, name, text), _value(outside, name, text))
        case ast.Tuple(elts=elements):
            return tuple([_value(each, name, text) for each in elements])
        case ast.Constant(value=value) if value is not ...:
            return value
        case ast.Name(id=constant) if constant in _CONSTANTS:
            return _CONSTANTS[constant]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _value(operand, name, text)
            if isinstance(value, int | float):
                return -value
    raise LineError(f"`{name}` has no value that a case can have, in the line `{text}`")


def _spec(node: ast.expr, name: str, text: str) -> str:
    """The text of a tensor, in the form that a declaration's tests have: `int64[3, 4] in 0..4`."""
    limits = ""
    if isinstance(node, ast.Compare):
        words, low, high = ast.literal_eval(node.comparators[0])
        limits = "".join(f" {word}" for word in words.split()) + (f" in {low}..{high}" if low else "")
        node = node.left
    assert isinstance(node, ast.Subscript)
    extents = ast.unparse(node.slice).strip("()").rstrip(",")
    spec = f"{ast.unparse(node.value)}[{extents}]{limits}"
    try:
        Spec.parse(spec)
    except ValueError as error:
        raise LineError(f"`{name}`: {error}, in the line `{text}`") from None
    return spec
