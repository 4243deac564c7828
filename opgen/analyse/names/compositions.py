"""What a declaration with `composed:` states of its results: rules that give their types, and shapes made of those."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from ...diagnostics import Place
from ...document import TextNode
from ...expression import syntax as s
from ...expression.composed import ComposedText
from ...model.opdef import OutputDef, RelationDef, RequireDef, ShapeTrees

_HOLDS: Final = "holds"  # of a type: what the ops of the composition ask of the operands


def with_types(composed: ComposedText, let: s.Block, relation: RelationDef) -> tuple[s.Block, RelationDef]:
    """`let:` and the requirements with those of the composition: its types, and what its ops ask for."""
    place = composed.types.place
    names = tuple(s.Name(place, type_name(result.name)) for result in composed.results)
    requires = [RequireDef(s.Attribute(place, name, _HOLDS), "what its ops ask for", None) for name in names]
    return (*let, replace(composed.types, targets=names)), replace(
        relation, requires=(*relation.requires, *requires)
    )


def composed_output(
    name: str,
    place: Place,
    shape: ShapeTrees | None,
    shape_text: TextNode | None,
    dtype: s.Expression | None,
    dtype_text: TextNode | None,
    doc: str,
) -> OutputDef:
    """A result of a composition; what is not stated of its type is that of the composition."""
    type_ = s.Name(place, type_name(name))
    return OutputDef(
        name,
        place,
        (s.Attribute(place, type_, "shape"),) if shape is None else shape,
        "composed.shape" if shape_text is None else shape_text.value.strip(),
        s.Attribute(place, type_, "dtype") if dtype is None else dtype,
        "composed.dtype" if dtype_text is None else dtype_text.value.strip(),
        doc,
        None,
        None,
    )


def composed_text(node: TextNode, outputs: Collection[str]) -> str:
    """The text for documentation: lines `name = expression`."""
    text = node.value.rstrip()
    if len(outputs) == 1 and "\n" not in text.strip():
        name = next(iter(outputs))
        return text if text.startswith(f"{name} =") else f"{name} = {text.strip()}"
    return text


def type_name(output: str) -> str:
    """What the type of a result is called; no declaration can give the name to anything."""
    return f"_{output}"
