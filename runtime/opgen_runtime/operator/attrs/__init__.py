"""Attrs: the typed, immutable compile-time arguments of an op.

field.py      `attr(...)` and `AttrField`: one declared field and its texts
kinds.py      the kinds of a field: what each takes, how it is normalised, its JSON
expressions.py  expressions of dims as JSON
objects.py    what has a type key and fields: attrs, and types
base.py       `Attrs`: construction, checks, equality, hash, repr
visitors.py   the protocols of the two field visitors
"""

from .base import Attrs, attrs_class, attrs_from_json, document_attrs
from .field import REQUIRED, AttrField, attr, bounds_of_values
from .kinds import KINDS, AttrKind, KindError, object_text, same_value_key, to_json_value, value_text
from .objects import AttrObject, ObjectError, classes_of, set_object_reader
from .visitors import AttrVisitor, NonDefaultVisitor

__all__ = [
    "KINDS",
    "REQUIRED",
    "AttrField",
    "AttrKind",
    "AttrObject",
    "AttrVisitor",
    "Attrs",
    "KindError",
    "NonDefaultVisitor",
    "ObjectError",
    "attr",
    "attrs_class",
    "attrs_from_json",
    "bounds_of_values",
    "classes_of",
    "document_attrs",
    "object_text",
    "same_value_key",
    "set_object_reader",
    "to_json_value",
    "value_text",
]
