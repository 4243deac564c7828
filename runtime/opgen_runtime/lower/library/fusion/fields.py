"""What is left of an op of several results, whose fields nothing was joined with, as one segment with its producers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ....base.vocabulary import OpPattern
from .dataflow import Node
from .groups import Groups
from .joint import results


def join_fields(nodes: Sequence[Node], groups: Groups) -> None:
    """Join the fields of each call that stand alone, and what they alone read."""
    alone: dict[Hashable, list[Node]] = {}
    for node in nodes:
        if node.call is not None and node.expr is not node.call and groups.find(node).size == 1:
            alone.setdefault((id(node.call), id(node.block)), []).append(node)
    for fields in alone.values():
        whole = groups.find(fields[-1])
        groups.join([groups.find(field) for field in fields], whole)
        for source in [s for part in fields[0].parts for s in (part, *part.parts)]:
            group = groups.find(source)
            is_sweep = (
                source.call is not None and group.root is source and group.pattern <= OpPattern.INJECTIVE
            )
            if is_sweep and group is not whole and groups.fits([group, whole]):
                read = {id(groups.find(user)) for user, _ in source.users}
                if results(group, groups) == [source] and not source.escapes and read == {id(whole)}:
                    groups.join([group], whole)
