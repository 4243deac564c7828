"""Drawings in DOT, the language of Graphviz."""

from __future__ import annotations

from typing import Final

from .drawing import Drawing, Kind

_STYLES: Final[dict[Kind, str]] = {
    "input": "shape=ellipse",
    "constant": 'shape=box, style="rounded,dashed"',
    "call": "shape=box",
    "output": "shape=ellipse, style=bold",
}


def dot(drawing: Drawing) -> str:
    """A directed graph, from parameters down to results; each group is a cluster."""
    lines = ["digraph program {", '  node [fontname="monospace"];', '  edge [fontname="monospace"];']
    members: list[list[str]] = [[] for _ in drawing.groups]
    for number, node in enumerate(drawing.nodes):
        line = f"n{number} [label={_quoted(*node.label)}, {_STYLES[node.kind]}];"
        if node.group is None:
            lines.append(f"  {line}")
        else:
            members[node.group].append(f"    {line}")
    for number, name in enumerate(drawing.groups):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(name)};", *members[number], "  }"]
    lines += [f"  n{edge.source} -> n{edge.target} [label={_quoted(edge.label)}];" for edge in drawing.edges]
    return "\n".join([*lines, "}", ""])


def _quoted(*lines: str) -> str:
    r"""Lines as one string of DOT, in which `\n` ends a line."""
    return '"' + r"\n".join([line.replace("\\", "\\\\").replace('"', '\\"') for line in lines if line]) + '"'
