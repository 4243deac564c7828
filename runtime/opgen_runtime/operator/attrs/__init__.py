"""Attrs: the typed, immutable compile-time arguments of an op.

field.py      `attr(...)` and `AttrField`: one declared field and its texts
kinds.py      the kinds of a field: what each takes, how it is normalised, its JSON
expressions.py  expressions of dims as JSON
base.py       `Attrs`: construction, checks, equality, hash, repr
visitors.py   the protocols of the two field visitors
"""

from .base import Attrs, attrs_class, attrs_from_json, document_attrs
from .field import REQUIRED, AttrField, attr
from .kinds import KINDS, AttrKind, KindError, same_value_key, to_json_value, value_text
from .visitors import AttrVisitor, NonDefaultVisitor

__all__ = [
    "KINDS",
    "REQUIRED",
    "AttrField",
    "AttrKind",
    "AttrVisitor",
    "Attrs",
    "KindError",
    "NonDefaultVisitor",
    "attr",
    "attrs_class",
    "attrs_from_json",
    "document_attrs",
    "same_value_key",
    "to_json_value",
    "value_text",
]
