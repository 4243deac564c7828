"""Drawings: what is there to see of a program, before anybody writes it as DOT or SVG.

Nodes, edges between them, labelled, and groups of nodes.  `artist.py` draws programs of the graph IR.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from ..base.vocabulary import dataclass

Kind = Literal["input", "constant", "call", "output"]


@dataclass(frozen=True, slots=True)
class Node:
    """A box: what it is, the lines that stand in it, and the number of its group, if it is in one."""

    kind: Kind
    label: tuple[str, ...]
    group: int | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """From one node to a later one, both by number."""

    source: int
    target: int
    label: str


@dataclass(slots=True)
class Drawing:
    """Nodes by number, each after those that it reads from; groups by number, as their names."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)

    def beside(self, other: Drawing) -> Drawing:
        """Both, with nothing between them."""
        nodes, groups = len(self.nodes), len(self.groups)
        moved = [
            Node(node.kind, node.label, None if node.group is None else groups + node.group)
            for node in other.nodes
        ]
        edges = [Edge(nodes + edge.source, nodes + edge.target, edge.label) for edge in other.edges]
        return Drawing([*self.nodes, *moved], [*self.edges, *edges], [*self.groups, *other.groups])


def output_names(count: int) -> list[str]:
    """What the results of a program are called."""
    return ["output"] if count == 1 else [f"output {k}" for k in range(count)]
