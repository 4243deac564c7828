"""One op as it is listed: all that `opgen list` shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..model import CheckedOp

DTypes = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Listing:
    """One op; `line` is 0 where only the file of the declaration is known."""

    op: str
    family: str
    level: int
    arity: int
    dtypes: tuple[str, ...]
    pattern: str
    inputs: tuple[str, ...]
    attrs: tuple[str, ...]
    outputs: tuple[str, ...]
    externs: tuple[str, ...]
    source: str
    line: int


def listing_of(op: CheckedOp) -> Listing:
    """What is listed of a checked op."""
    return Listing(
        op.name,
        op.family,
        op.support_level,
        op.arity,
        dtype_classes((each.dtype for each in op.inputs), op.signature.dtypes),
        op.pattern.name.lower(),
        tuple(each.name for each in op.inputs),
        tuple(each.name for each in op.attrs),
        tuple(each.name for each in op.outputs),
        tuple(op.externs),
        op.source,
        op.line,
    )


def listing_from(record: Mapping[str, Any], line: int) -> Listing:
    """What a record keeps of one; the declaration may stand elsewhere in its file by now."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record.items()
    }
    return Listing(**{**values, "line": line})


def dtype_classes(declared: Iterable[str | tuple[str, ...]], variables: DTypes) -> tuple[str, ...]:
    """What the operands may be, each once: dtypes and dtype classes, those of dtype variables among them."""
    found: dict[str, None] = {}
    for each in declared:
        for name in each if isinstance(each, tuple) else (each,):
            meant = variables.get(name, name)
            found.update(dict.fromkeys(meant if isinstance(meant, tuple) else (meant,)))
    return tuple(found)
