"""The schemas of operators in onnx, and the element types that they take."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import onnx
from onnx import TensorProto

from ...base.vocabulary import dataclass
from ...operator import TensorType
from .element_types import element_type_of


@lru_cache(None)
def schema_of(domain: str, operator: str, version: int) -> Any:
    """The `onnx.defs.OpSchema` of an operator at an opset; None if onnx knows none or has taken it back.

    The type stubs of onnx leave out what is said of functions.
    """
    try:
        schema = onnx.defs.get_schema(operator, version, domain)
    except onnx.defs.SchemaError:
        return None
    return None if schema.deprecated else schema


@dataclass(frozen=True, slots=True)
class _Formal:
    """One input of a schema: the types it takes, and the variable that stands for the one taken ("" if none)."""

    name: str
    types: frozenset[str]
    variable: str


def why_bad_types(domain: str, operator: str, version: int, types: Sequence[TensorType | None]) -> str | None:
    """Why inputs of these types (None: absent, or no tensor) do not fit an operator at an opset; None if they do."""
    formals = _formals(domain, operator, version)
    if not formals:
        return None
    chosen: dict[str, tuple[str, str]] = {}
    for k, given in enumerate(types):
        if given is None:
            continue
        formal = formals[min(k, len(formals) - 1)]
        found = f"tensor({TensorProto.DataType.Name(element_type_of(given.dtype)).lower()})"
        if found not in formal.types:
            wanted = ", ".join(sorted(formal.types))
            return f"input {k} ({formal.name}) is a {found}, expected one of {wanted}"
        if formal.variable:
            name, before = chosen.setdefault(formal.variable, (formal.name, found))
            if before != found:
                return f"input {k} ({formal.name}) is a {found}, expected {before} as of input {name}"
    return None


@lru_cache(None)
def _formals(domain: str, operator: str, version: int) -> tuple[_Formal, ...]:
    schema = schema_of(domain, operator, version)
    if schema is None:
        return ()
    variables = {each.type_param_str for each in schema.type_constraints}
    return tuple(
        [
            _Formal(
                each.name,
                frozenset(each.types),
                each.type_str if each.is_homogeneous and each.type_str in variables else "",
            )
            for each in schema.inputs
        ]
    )
