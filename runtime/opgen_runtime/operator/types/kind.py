"""Kinds: what a type is a type of, and whether it is put together of parts of the right kind."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ...base.errors import TypeInferenceError
from .relation import FuncType, TypeRelation
from .type import TupleType, Type, TypeVar


class Kind(Enum):
    """What a type describes: values (`TYPE`), or what holds between types (`CONSTRAINT`)."""

    TYPE = "type"
    CONSTRAINT = "constraint"


def check_kind(of: Type) -> Kind:
    """The kind of a type whose parts are of the kinds that it takes.

        (Tensor[(2,), int8], a)      TYPE: fields are types of values
        Broadcast(a, b, out)         CONSTRAINT: arguments are types of values

    Raises TypeInferenceError for a part of another kind, naming it, and for what is no type.
    """
    stack: list[object] = [of]
    while stack:
        whole = stack.pop()
        if isinstance(whole, TupleType):
            _are(whole.fields, Kind.TYPE, "field", whole)
            stack.extend(whole.fields)
        elif isinstance(whole, FuncType):
            for each in whole.type_params:
                if not isinstance(each, TypeVar):
                    raise TypeInferenceError(
                        f"a type parameter of a FuncType is {each!r}; expected a TypeVar"
                    )
            _are(whole.params, Kind.TYPE, "parameter", whole)
            _are((whole.ret,), Kind.TYPE, "result", whole)
            _are(whole.constraints, Kind.CONSTRAINT, "constraint", whole)
            stack.extend((*whole.params, whole.ret, *whole.constraints))
        elif isinstance(whole, TypeRelation):
            _are(whole.args, Kind.TYPE, "argument", whole)
            stack.extend(whole.args)
        else:
            _kind(whole)
    return _kind(of)


def _kind(of: object) -> Kind:
    if not isinstance(of, Type):
        raise TypeInferenceError(f"{of!r:.80} is no type; expected a Type, such as TensorType")
    return Kind.CONSTRAINT if isinstance(of, TypeRelation) else Kind.TYPE


def _are(parts: Sequence[object], wanted: Kind, what: str, whole: Type) -> None:
    """Raises TypeInferenceError for a part that is not of the kind."""
    for number, part in enumerate(parts):
        found = _kind(part)
        if found is not wanted:
            place = f"{what} {number}" if len(parts) > 1 else what
            raise TypeInferenceError(
                f"the {place} of {whole!r} is {part!r}, of kind {found.value}; expected kind {wanted.value}"
            )
