"""Objects with fields: attrs and types, which are also values of attrs.

An object has a type key, by which JSON knows its class, and calls a visitor for each of its fields.  Text of one is
read further up, where the text form is: `set_object_reader` says how.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from .expressions import DimTable
from .visitors import AttrVisitor


class ObjectError(ValueError):
    """JSON or text that stands for no object; the message says why."""


class AttrObject:
    """Base of what has a type key and fields."""

    type_key: ClassVar[str]
    __slots__ = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "type_key" in cls.__dict__:
            _CLASSES.setdefault(cls.type_key, {})[cls.__module__] = cls

    @property
    def is_value(self) -> bool:
        """Whether all about it is known, so that it is the same in every process and may be the value of an attr."""
        return False

    @property
    def short_text(self) -> str | None:
        """A text other than the type key and the fields, where the text form has one."""
        return None

    def visit_fields(self, visitor: AttrVisitor) -> None:
        """Calls `visitor.visit(name, kind, value)` for every field, in order of declaration."""

    def to_json(self, dims: DimTable | None = None) -> dict[str, object]:
        """A JSON-able mapping of `type_key` and every field."""
        listed = {name: value_to_json(value) for name, _, value in fields_of(self)}
        return {"type_key": self.type_key, **listed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], dims: DimTable | None = None) -> Self:
        """The object that `to_json` wrote.  Raises what making it raises."""
        return cls(**{name: value_from_json(value) for name, value in data.items() if name != "type_key"})


_CLASSES: dict[
    str, dict[str, type[AttrObject]]
] = {}  # by type key, then by the module that defines the class


def classes_of(type_key: str) -> tuple[type[AttrObject], ...]:
    """The loaded classes of a type key: several where modules define one each."""
    return tuple(_CLASSES.get(type_key, {}).values())


class _Fields:
    def __init__(self) -> None:
        self.found: list[tuple[str, str, object]] = []

    def visit(self, name: str, kind: str, value: object) -> None:
        self.found.append((name, kind, value))


def fields_of(node: AttrObject) -> list[tuple[str, str, object]]:
    """(name, kind, value) of each field of an object."""
    visitor = _Fields()
    node.visit_fields(visitor)
    return visitor.found


def value_to_json(value: object) -> object:
    """A JSON-able form of numbers, texts, None, objects and tuples of these; `{"float": "nan"}` for those it lacks."""
    if isinstance(value, tuple):
        return [value_to_json(item) for item in value]
    if isinstance(value, AttrObject):
        return value.to_json()
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def value_from_json(value: object) -> object:
    """What `value_to_json` wrote.  Raises ObjectError for a mapping that stands for nothing, and what objects raise."""
    if isinstance(value, list):
        return tuple([value_from_json(item) for item in value])
    if not isinstance(value, dict):
        return value
    if value.keys() == {"float"} and value["float"] in ("nan", "inf", "-inf"):
        return float(value["float"])
    key = str(value.get("type_key"))
    found = classes_of(key.partition("@")[0])
    if len(found) != 1:
        raise ObjectError(f"{len(found)} loaded classes have the type key {key!r}")
    return found[0].from_json(value)


_readers: list[Callable[[str], object]] = []


def set_object_reader(read: Callable[[str], object]) -> None:
    """`read` gives the value that a text means, and raises a ParseError for text that means none."""
    _readers[:] = [read]


def object_of_text(text: str) -> object:
    """The value that a text such as `Tensor[(2, 3), float32]` means.

    Raises ParseError, and ObjectError where the storey of the text form is not imported.
    """
    if not _readers:
        raise ObjectError("texts are read once opgen_runtime.ir is imported")
    return _readers[0](text)
