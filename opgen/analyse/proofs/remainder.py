"""The statements of `compute` that nothing has been reported of: running them shows more of one run's errors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ...diagnostics import Place
from ...expression import syntax as s
from ...expression.paths import assigned, defines
from ...model.opdef import OpDef

_HARMLESS: Final = frozenset(
    {
        "compute",
        "tests",
        "reference",
        "grad",
        "strategy",
        "pattern",
        "traits",
        "doc",
        "since",
        "version",
        "deprecated",
    }
)


def sound_part(op: OpDef, wrong: Collection[Place]) -> OpDef | None:
    """The op with the statements that can be run, where something is wrong at the given places.

    None if something else than statements of `compute` is wrong that running them needs.
    """
    block = op.compute
    if block is None or op.partial - _HARMLESS:
        return None
    if any(isinstance(item, s.Composition) for item in op.let):
        return None  # the types are made of the same text
    if not all(any(_holds(item, place) for item in block) for place in wrong):
        return None
    return replace(op, compute=sound_statements(block, wrong, op.lost))


def sound_statements(block: s.Block, wrong: Collection[Place], lost: Collection[str]) -> s.Block:
    """The statements without a place of `wrong` that need no name of `lost`, nor one that the others bind."""
    lost = set(lost)
    while True:
        kept = tuple(item for item in block if not _is_lost(item, wrong, lost))
        if len(kept) == len(block):
            return kept
        lost |= {name for item in block if item not in kept for name in _bound(item)}
        block = kept


def _is_lost(item: s.Statement, wrong: Collection[Place], lost: set[str]) -> bool:
    return any(_holds(item, place) for place in wrong) or any(name in lost for name in _names(item))


def _holds(item: s.Statement, place: Place) -> bool:
    lines = [line for node in s.walk(item) for line in (node.place.line, node.place.end_line)]
    return item.place.path == place.path and min(lines) <= place.line <= max(lines)


def _names(item: s.Statement) -> Iterator[str]:
    return (node.name for node in s.walk(item) if isinstance(node, s.Name))


def _bound(item: s.Statement) -> Sequence[str]:
    if isinstance(item, s.Def):
        return (item.name,)
    return (*assigned((item,)), *(define.tensor.name for define in defines((item,))))
