"""One declared field of an Attrs class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final

from ...base.vocabulary import dataclass
from .expressions import DimTable
from .kinds import KINDS, KindError, value_text


class _Required(Enum):
    REQUIRED = "required"

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required.REQUIRED


@dataclass(frozen=True, slots=True)
class AttrField:
    """A field: its kind, its default (`REQUIRED` if it has none), its bounds as text, and its documentation.

    `values`: of an enum, those that it may have.

    `check(value, attrs)` decides the part of the bounds that needs no input; for a list it is asked for each
    element.  The part that needs inputs belongs to the op's signature.
    """

    name: str
    kind: str
    default: object = REQUIRED
    optional: bool = False
    bounds: str | None = None
    check: Callable[[Any, Any], bool] | None = None
    doc: str = ""
    values: tuple[str, ...] = ()

    # Not `dataclasses.replace`, which takes ten times as long: each is called for every attr that is imported.
    def with_name(self, name: str) -> AttrField:
        return AttrField(
            name, self.kind, self.default, self.optional, self.bounds, self.check, self.doc, self.values
        )

    def with_doc(self, doc: str) -> AttrField:
        return AttrField(
            self.name, self.kind, self.default, self.optional, self.bounds, self.check, doc, self.values
        )

    @property
    def is_list(self) -> bool:
        return KINDS[self.kind].is_list

    @property
    def type_text(self) -> str:
        """`int, default=0, 0 <= axis`; a required field says `required`."""
        parts = [f"optional {self.kind}" if self.optional else self.kind]
        parts.append("required" if self.default is REQUIRED else f"default={value_text(self.default)}")
        if self.bounds:
            parts.append(self.bounds)
        return ", ".join(parts)

    def to_json(self, value: object, dims: DimTable) -> object:
        """A JSON-able form of a value. Raises `KindError`."""
        return KINDS[self.kind].to_json(value, dims)

    def read_json(self, value: object, dims: DimTable) -> object:
        """The value that `to_json` wrote, before it is normalised. Raises `KindError`."""
        return KINDS[self.kind].read_json(value, dims)

    def normalise(self, value: object) -> object:
        """The kept form of a value; raises `KindError` saying what is expected."""
        if value is None:
            if self.optional:
                return None
            raise KindError(KINDS[self.kind].expected)
        return KINDS[self.kind].kept(value)


def bounds_of_values(values: Sequence[str]) -> str:
    """The bounds of an enum as text: `one of "sum", "mean"`."""
    return f"one of {', '.join(map(value_text, values))}"


def attr(
    kind: str,
    *,
    default: object = REQUIRED,
    optional: bool = False,
    bounds: str | None = None,
    check: Callable[[Any, Any], bool] | None = None,
    doc: str = "",
    values: tuple[str, ...] = (),
) -> Any:
    """Declares a field in the body of an Attrs class: `axis: int = attr("int", default=0, bounds="0 <= axis")`.

    The name is filled in by the class.  A default of None makes the field optional.  `values`: those of an enum, which
    are its bounds.
    Raises ValueError for an unknown kind, an enum without values (or another kind with some), or a default that does
    not suit the kind: a mistake in the class, not in a call.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown attr kind {kind!r}; expected one of {', '.join(KINDS)}")
    if (kind == "enum") != bool(values):
        raise ValueError(
            f"an attr of kind enum states its values, another none; found {kind!r} with {values}"
        )
    if values:
        bounds, check = bounds_of_values(values), lambda value, attrs: value in values
    optional = optional or default is None
    field = AttrField("", kind, default, optional, bounds, check, doc, values)
    if default is REQUIRED:
        return field
    return AttrField("", kind, field.normalise(default), optional, bounds, check, doc, values)
