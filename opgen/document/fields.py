"""Field types of the document model: every leaf is a `TextNode`, checked but kept with its place."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from .node import TextNode
from .source import Scalar

IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
OP_NAME: Final = re.compile(r"[a-z][a-z0-9_]*\Z")
EXTERN: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*\Z", re.ASCII)
_YES: Final = frozenset({"yes", "on", "y", "1"})
_NO: Final = frozenset({"no", "off", "n", "0"})
_SCALAR: Final = {
    "type": ["string", "number", "boolean"]
}  # an editor's YAML resolves 1 and yes before it checks


def _wrong(code: str, message: str, instead: str | None = None) -> PydanticCustomError:
    """An error at a text; `instead` is what it must have been meant to be."""
    return PydanticCustomError(code, "{message}", {"message": message, "instead": instead})


def kind_of(value: object) -> str:
    """What a value is, in the words of a YAML author."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, TextNode):
        return "nothing" if value.is_empty else "text"
    return "a value"


def _text(value: object) -> TextNode:
    if not isinstance(value, TextNode):
        raise _wrong("wrong-kind", f"text is expected here, found {kind_of(value)}")
    return value


def _filled(value: object) -> TextNode:
    text = _text(value)
    if not text.value.strip():
        raise _wrong("bad-value", "a text is expected here, found nothing")
    return text


def _given(value: object) -> TextNode:
    text = _text(value)
    if text.is_empty:
        raise _wrong("bad-value", "a text is expected here, found nothing")
    return text


def _texts(value: object) -> tuple[TextNode, ...]:
    return tuple(_given(item) for item in (value if isinstance(value, list) else [value]))


def _shape(value: object) -> TextNode:
    """A text, or a list of its entries: `shape: [N, M]` is `shape: "N, M"`."""
    if not isinstance(value, list) or not value:
        return _text(value)
    entries = [_filled(item) for item in value]
    first, last = entries[0], entries[-1]
    source = first.scalar.source
    scalar = Scalar(source, first.scalar.start, last.scalar.end, "")
    return TextNode(
        ", ".join(entry.value for entry in entries), source.place(scalar.start, scalar.end), scalar
    )


def _flag(value: object) -> bool:
    text = _text(value).value
    if text.lower() not in ("true", "false"):
        meant = "true" if text.lower() in _YES else "false" if text.lower() in _NO else None
        raise _wrong("bad-value", f"expected `true` or `false`, found `{text[:40]}`", meant)
    return text.lower() == "true"


def _whole(value: object) -> int:
    text = _text(value).value
    if re.fullmatch(r"-?[0-9]{1,9}", text) is None:
        raise _wrong("bad-value", f"expected a whole number, found `{text[:40]}`")
    return int(text)


def _snake_case(text: str) -> str | None:
    """`AxisAbs` or `axis-abs` as `axis_abs`; None where that is no name of an op."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[-. ]+", "_", text).lower()
    return words if OP_NAME.match(words) and not keyword.iskeyword(words) and len(words) <= 80 else None


def _op_name(value: object) -> TextNode:
    text = _filled(value)
    if OP_NAME.match(text.value) is None:
        message = f"an op is named in snake_case, such as `axis_abs`, not `{text.value[:60]}`"
        raise _wrong("bad-name", message, _snake_case(text.value))
    if len(text.value) > 80:
        raise _wrong("bad-name", "the name of an op has at most 80 characters")
    if keyword.iskeyword(text.value) or text.value == "compute":
        what = "a Python keyword" if text.value != "compute" else "a name of the generated module"
        raise _wrong("reserved-name", f"an op cannot be called `{text.value}`: it is {what}")
    return text


def _extern(value: object) -> TextNode:
    text = _filled(value)
    if EXTERN.match(text.value) is None:
        raise _wrong("extern", f"expected `package.module:function`, found `{text.value[:60]}`")
    return text


def _empty_is_mapping(value: object) -> object:
    """`data:` with nothing after it is a mapping without entries."""
    return {} if isinstance(value, TextNode) and value.is_empty else value


def _one_or_many(value: object) -> object:
    return value if isinstance(value, list) else [value]


Text = Annotated[TextNode, PlainValidator(_text), WithJsonSchema(_SCALAR)]
ShapeText = Annotated[
    TextNode,
    PlainValidator(_shape),
    WithJsonSchema({"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]}),
]
Filled = Annotated[TextNode, PlainValidator(_filled), WithJsonSchema(_SCALAR)]
Texts = Annotated[
    tuple[TextNode, ...],
    PlainValidator(_texts),
    WithJsonSchema({"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]}),
]
Flag = Annotated[bool, PlainValidator(_flag), WithJsonSchema({"type": "boolean"})]
Whole = Annotated[int, PlainValidator(_whole), WithJsonSchema({"type": "integer"})]
OpName = Annotated[
    TextNode, PlainValidator(_op_name), WithJsonSchema({"type": "string", "pattern": "^[a-z][a-z0-9_]*$"})
]
Extern = Annotated[
    TextNode, PlainValidator(_extern), WithJsonSchema({"type": "string", "pattern": r"^[\w.]+:\w+$"})
]
EmptyIsMapping = BeforeValidator(_empty_is_mapping)
OneOrMany = BeforeValidator(_one_or_many)


def choice(names: Collection[str]) -> tuple[PlainValidator, WithJsonSchema]:
    """Annotations of a text that is one of `names`."""

    def validate(value: object) -> TextNode:
        text = _text(value)
        if text.value not in names:
            raise PydanticCustomError(
                "bad-value",
                "{message}",
                {
                    "message": f"expected one of {', '.join(names)}; found `{text.value[:40]}`",
                    "known": tuple(names),
                    "found": text.value,
                },
            )
        return text

    return PlainValidator(validate), WithJsonSchema({"enum": list(names)})
