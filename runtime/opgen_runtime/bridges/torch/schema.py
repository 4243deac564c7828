"""A program's signature in torch's schema language, and the arguments of calls as operands and attrs.

    softmax                            softmax(Tensor data, int axis=-1) -> Tensor
    cast(x, dtype)                     cast(Tensor data, ScalarType dtype) -> Tensor
    concatenate((a, b), axis=0)        concatenate(Tensor[] data, int axis=0) -> Tensor
    clip(x, a_min, a_max)              clip(Tensor data, float? a_min=None, float? a_max=None, *,
                                            str? a_min_exact=None, str? a_max_exact=None) -> Tensor

Operands come first, then attrs; what has no default and follows one that has is given by name.  An attr of kind number
is a float, and has an `_exact` beside it, the digits of an int that a float cannot hold.  A default that the language
cannot write (a list of texts, infinity) is None there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch

from ...base.errors import AttrError
from ...base.vocabulary import DType, dataclass
from ...ir.type_parser import object_from_text
from ...operator import REQUIRED, AttrField, value_text
from ...run.op_programs.programs import Operand, Program
from .tensors import DTYPE_OF, NAME_OF, NAME_OF_CODE

_TYPES: Final = {
    "int": "int", "float": "float", "number": "float", "bool": "bool", "str": "str", "dtype": "ScalarType",
    "layout": "str", "shape": "SymInt[]", "ints": "int[]", "floats": "float[]", "strs": "str[]",
    "enum": "str", "array": "str", "object": "str",
}  # fmt: skip
_AS_TEXT: Final = ("array", "object")  # kinds that torch has no type for: the text form of their values
_TENSORS: Final = {"one": "Tensor", "optional": "Tensor?", "several": "Tensor[]"}
# How the language spells element types in defaults; it has no words for the others.
_DTYPE_WORDS: Final = {
    "float32": "float", "float64": "double", "int32": "int", "int64": "long", "int16": "short", "bool": "bool",
}  # fmt: skip
_LARGEST_EXACT: Final = 1 << 53  # ints up to this size are floats, too
_EXACT: Final = "_exact"


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of an op of torch: `field` is None for an operand.

    `default`: in torch's form, REQUIRED where there is none.  `elided`: the declared default is None in the schema.
    """

    name: str
    type_text: str
    default: object = REQUIRED
    field: AttrField | None = None
    elided: bool = False

    @property
    def text(self) -> str:
        found = f"{self.type_text} {self.name}"
        return found if self.default is REQUIRED else f"{found}={_written(self)}"


class Schema:
    """How a program is called in torch.

    `parameters`: in the order of the schema, of which the first `positional` may be given by position.  `text`: without
    the namespace.  `wrt_position`: of a derivative, where among them its `wrt` is.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        operands, plain, exact = _parameters(program)
        ordered = [*operands, *plain]
        self.parameters = (*ordered, *exact)
        is_derived = len(program.path) > 1  # called by the bridge alone, with all arguments
        self.positional = len(self.parameters) if is_derived else _first_after_default(ordered)
        self.attr_names = tuple([each.name for each in (*plain, *exact)])
        texts = [each.text for each in self.parameters]
        if self.positional < len(texts):
            texts.insert(self.positional, "*")
        self.text = f"{program.name}({', '.join(texts)}) -> {_results(program)}"
        self._count = len(program.operands)
        self.wrt_position = self._count + len(program.fields) - 1

    def bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """One value a parameter, in torch's form: defaults for those that the dispatcher left out."""
        found = list(args)
        for parameter in self.parameters[len(args) :]:
            found.append(kwargs.get(parameter.name, parameter.default))
        return found

    def operands(self, bound: Sequence[Any]) -> list[torch.Tensor | tuple[torch.Tensor, ...] | None]:
        """The operands of bound arguments."""
        return [tuple(each) if isinstance(each, list) else each for each in bound[: self._count]]

    def attrs(self, bound: Sequence[Any]) -> dict[str, Any]:
        """The attrs of bound arguments, in torch's form."""
        return dict(zip(self.attr_names, bound[self._count :], strict=True))

    def values(self, attrs: Mapping[str, Any]) -> dict[str, object]:
        """Attrs in torch's form as normalised values.  Raises AttrError."""
        found: dict[str, object] = {}
        for parameter in self.parameters[self._count :]:
            field, value = parameter.field, attrs[parameter.name]
            if field is None or (parameter.name != field.name and value is None):
                continue
            if parameter.name != field.name:
                found[field.name] = _int_of(parameter.name, value)
            elif parameter.elided and value is None:
                found[field.name] = field.default
            else:
                found[field.name] = _taken(field, value)
        return self.program.normalised(found)


def given(schema: Schema, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """What users write for attrs, in torch's form: names of element types, ints that no float holds, lists of one."""
    found = dict(attrs)
    for parameter in schema.parameters:
        field = parameter.field
        if field is None or field.name not in attrs or parameter.name != field.name:
            continue
        value = attrs[field.name]
        if field.kind in _AS_TEXT and value is not None:
            found[field.name] = value_text(field.normalise(value))
        elif field.kind == "dtype" and isinstance(value, str) and value in DTYPE_OF:
            found[field.name] = DTYPE_OF[value]
        elif field.kind == "number" and isinstance(value, int) and abs(value) > _LARGEST_EXACT:
            found[field.name] = 0.0
            found[field.name + _EXACT] = str(value)
        elif field.is_list and isinstance(value, int | float | str):
            found[field.name] = [value]
    return found


def needs_conversion(schema: Schema) -> bool:
    """Whether users may write an attr in other forms than torch's."""
    fields = [each.field for each in schema.parameters if each.field is not None]
    return any(field.is_list or field.kind in ("dtype", "number", *_AS_TEXT) for field in fields)


def _parameters(program: Program) -> tuple[list[Parameter], list[Parameter], list[Parameter]]:
    """Those of the operands, of the attrs, and of the ints that floats cannot hold."""
    derived = len(program.path) > 1
    operands = [_operand(each, derived) for each in program.operands]
    if any(each.kind == "several" for each in program.operands[1:]):
        operands = [Parameter(each.name, each.type_text) for each in operands]
    plain = [_attr(field, derived) for field in program.fields]
    exact = [
        Parameter(field.name + _EXACT, "str?", REQUIRED if derived else None, field)
        for field in program.fields
        if field.kind == "number"
    ]
    return operands, plain, exact


def _operand(operand: Operand, derived: bool) -> Parameter:
    default = None if operand.kind == "optional" and not derived else REQUIRED
    return Parameter(operand.name, _TENSORS[operand.kind], default)


def _attr(field: AttrField, derived: bool) -> Parameter:
    type_text = _TYPES[field.kind] + ("?" if field.optional else "")
    if field.default is REQUIRED or derived:
        elided = not field.optional and field.default is not REQUIRED and not _can_be_written(field)
        return Parameter(field.name, type_text + "?" * elided, REQUIRED, field, elided)
    if _can_be_written(field):
        return Parameter(field.name, type_text, _torch_form(field), field)
    return Parameter(field.name, type_text.rstrip("?") + "?", None, field, elided=True)


def _first_after_default(parameters: Sequence[Parameter]) -> int:
    """The first that has no default and comes after one that has; their number where there is none."""
    seen = False
    for k, each in enumerate(parameters):
        if each.default is not REQUIRED:
            seen = True
        elif seen:
            return k
    return len(parameters)


def _can_be_written(field: AttrField) -> bool:
    value = field.default
    if field.kind in _AS_TEXT:
        return True
    if field.kind == "dtype":
        return value is None or str(value) in _DTYPE_WORDS
    if isinstance(value, tuple):
        return all(isinstance(item, int | float) and math.isfinite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)


def _torch_form(field: AttrField) -> object:
    value = field.default
    if field.kind in _AS_TEXT and value is not None:
        return value_text(value)
    if isinstance(value, DType):
        return DTYPE_OF[value]
    if isinstance(value, tuple):
        return list(value)
    return float(value) if field.kind == "number" and isinstance(value, int) else value


def _written(parameter: Parameter) -> str:
    value = parameter.default
    if isinstance(value, torch.dtype):
        return _DTYPE_WORDS[NAME_OF[value]]
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)


def _int_of(name: str, digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise AttrError(f"attr {name!r} is {digits!r}, expected the digits of an int") from None


def _taken(field: AttrField, value: Any) -> object:
    """A value of torch's as users of declared ops write it."""
    if field.kind == "dtype" and value is not None:
        return NAME_OF.get(value, value) if isinstance(value, torch.dtype) else NAME_OF_CODE.get(value, value)
    if field.kind == "array" and isinstance(value, str):
        return object_from_text(value)
    if field.kind == "number" and isinstance(value, float) and value.is_integer():
        return (
            int(value) if abs(value) <= _LARGEST_EXACT and (value or math.copysign(1, value) > 0) else value
        )
    return tuple(value) if isinstance(value, list) else value


def _results(program: Program) -> str:
    if program.gives_several:
        return "Tensor[]"
    texts = ["Tensor"] * len(program.outputs)
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
