"""The built-in relations that `type_relation:` may name, as predicates on the operands' shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...diagnostics import Diagnostics, Place, did_you_mean
from ...document import TextNode
from ...expression import syntax as s
from ...model.opdef import OpDef, RequireDef


def relation_requires(op: OpDef, diagnostics: Diagnostics) -> tuple[RequireDef, ...]:
    """What the named relation demands; an unknown name is reported."""
    named = op.relation.name
    if named is None:
        return ()
    make = _RELATIONS.get(named.value)
    if make is None:
        known = ", ".join(_RELATIONS)
        text = f"there is no relation `{named.value[:40]}`; the built-in ones are {known}"
        diagnostics.error("bad-value", text, named.place, did_you_mean(named.value, _RELATIONS))
        return ()
    shapes = [_shape(operand.name, named.place) for operand in op.inputs if not operand.variadic]
    return make(shapes, named) if len(shapes) > 1 else ()


def _identity(shapes: Sequence[s.Expression], named: TextNode) -> tuple[RequireDef, ...]:
    """All operands have one shape."""
    return tuple(_equal(shapes[0], other, named) for other in shapes[1:])


def _broadcast(shapes: Sequence[s.Expression], named: TextNode) -> tuple[RequireDef, ...]:
    """The operands broadcast together (the function itself says where they do not)."""
    place = named.place
    together = s.Call(place, s.Name(place, "broadcast"), tuple(shapes))
    length = s.Call(place, s.Name(place, "len"), (together,))
    predicate = s.Compare(place, length, ((">=", s.Literal(place, 0)),))
    return (RequireDef(predicate, "the operands broadcast together", None),)


_RELATIONS: Final[dict[str, Callable[[Sequence[s.Expression], TextNode], tuple[RequireDef, ...]]]] = {
    "identity": _identity,
    "broadcast": _broadcast,
}


def _shape(name: str, place: Place) -> s.Expression:
    return s.Attribute(place, s.Name(place, name), "shape")


def _equal(left: s.Expression, right: s.Expression, named: TextNode) -> RequireDef:
    return RequireDef(s.Compare(named.place, left, (("==", right),)), "the operands have one shape", None)
