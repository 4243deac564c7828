"""Where the tensors of a program stand in the results of a model: in sequences, as narrow types, beside strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ...base.vocabulary import dataclass
from ...ir import Expr
from .narrow import Narrow, NarrowType
from .state import Value
from .texts import Texts

Structure: TypeAlias = "int | Narrowed | Texts | list[Structure] | None"
"""Where the tensors of a result stand among all of them, in the lists of sequences; strings themselves."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The tensor at a position, as an array of a narrow type."""

    position: int
    kind: NarrowType


def structure_of(value: Value, leaves: list[Expr]) -> Structure:
    """Where the tensors of a value stand; they are added to `leaves`."""
    if value is None:
        return None
    if isinstance(value, list):
        return [structure_of(item, leaves) for item in value]
    if isinstance(value, Texts):
        return value
    leaves.append(value.expr if isinstance(value, Narrow) else value)
    last = len(leaves) - 1
    return Narrowed(last, value.kind) if isinstance(value, Narrow) else last


def filled(structure: Structure, leaves: Sequence[np.ndarray]) -> Any:
    """The value of that structure."""
    if structure is None:
        return None
    if isinstance(structure, list):
        return [filled(item, leaves) for item in structure]
    if isinstance(structure, Texts):
        return structure.array.copy()
    if isinstance(structure, Narrowed):
        return leaves[structure.position].astype(structure.kind.numpy)
    return leaves[structure]
