"""Drawings as SVG, laid out in layers.

A group, or a node that is in none, is a block.  Blocks stand in layers, each below all that it reads from; what reads
nothing stands right above its first reader.  Inside a block its nodes stand in layers by the same rule.  In a layer
blocks are ordered by where they read from.  Every step is linear in nodes and edges, but for sorting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from .drawing import Drawing, Edge, Kind, Node

_LETTER: Final = 7.3  # the width of a letter of 12 pixels, and below the height of a line
_LINE: Final = 16
_PADDING: Final = 8
_ACROSS, _DOWN = 24, 44  # between blocks
_TITLE, _TITLE_WIDTH = 20, 80  # of a group's name
_STYLE: Final = (
    "text{font:12px monospace;text-anchor:middle;fill:#222}"
    ".node rect{fill:#fff;stroke:#555}.input rect,.output rect{fill:#dbe9f6}.constant rect{fill:#eee}"
    ".group>rect{fill:#fdf3dc;stroke:#c90}.edge path{fill:none;stroke:#888}"
    ".edge text{font-size:10px;fill:#666;paint-order:stroke;stroke:#fff;stroke-width:3px}"
)
_ROUND: Final[dict[Kind, int]] = {"input": 12, "constant": 4, "call": 0, "output": 12}


@dataclass(slots=True)
class _Box:
    """A rectangle: its size, and where its left upper corner is in what it lies in."""

    width: float
    height: float
    x: float = 0.0
    y: float = 0.0


def svg(drawing: Drawing) -> str:
    """The drawing as the text of one `svg` element, the same for the same drawing."""
    nodes = [_size(node) for node in drawing.nodes]
    block_of, members = _blocks(drawing)
    blocks: list[_Box] = []
    inner: list[list[Edge]] = [[] for _ in members]
    outer: list[tuple[int, int]] = []
    for edge in drawing.edges:
        source, target = block_of[edge.source], block_of[edge.target]
        if source == target:
            inner[source].append(edge)
        else:
            outer.append((source, target))
    for inside, edges in zip(members, inner, strict=True):
        blocks.append(_block(drawing, nodes, inside, edges))
    whole = _place(blocks, outer)
    for number, inside in enumerate(members):
        for node in inside:
            nodes[node].x += blocks[number].x + _ACROSS
            nodes[node].y += blocks[number].y + _DOWN
    width, height = whole.width + 2 * _ACROSS, whole.height + 2 * _DOWN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}"><style>{_STYLE}</style>'
    ]
    for number, inside in enumerate(members):
        group = drawing.nodes[inside[0]].group
        if group is not None:
            box = _Box(
                blocks[number].width,
                blocks[number].height,
                blocks[number].x + _ACROSS,
                blocks[number].y + _DOWN,
            )
            title = _text(box.x + box.width / 2, box.y + 14, drawing.groups[group])
            parts.append(f'<g class="group">{_rectangle(box, 6)}{title}</g>')
    parts += [_edge(nodes[edge.source], nodes[edge.target], edge.label) for edge in drawing.edges]
    parts += [_node(node, box) for node, box in zip(drawing.nodes, nodes, strict=True)]
    return "\n".join([*parts, "</svg>", ""])


def _blocks(drawing: Drawing) -> tuple[list[int], list[list[int]]]:
    """The block of each node, and the nodes of each block, both in the order of first nodes."""
    numbers: dict[tuple[str, int], int] = {}
    block_of = []
    members: list[list[int]] = []
    for number, node in enumerate(drawing.nodes):
        key = ("node", number) if node.group is None else ("group", node.group)
        if key not in numbers:
            numbers[key] = len(members)
            members.append([])
        block_of.append(numbers[key])
        members[numbers[key]].append(number)
    return block_of, members


def _block(drawing: Drawing, nodes: Sequence[_Box], inside: Sequence[int], edges: Iterable[Edge]) -> _Box:
    """A block, with the nodes placed in it."""
    if drawing.nodes[inside[0]].group is None:
        return _Box(nodes[inside[0]].width, nodes[inside[0]].height)
    position = {node: k for k, node in enumerate(inside)}
    boxes = [nodes[node] for node in inside]
    found = _place(boxes, [(position[edge.source], position[edge.target]) for edge in edges])
    width = max(found.width, _TITLE_WIDTH) + 2 * _PADDING
    for box in boxes:
        box.x += (width - found.width) / 2
        box.y += _TITLE
    return _Box(width, found.height + _TITLE + _PADDING)


def _place(boxes: Sequence[_Box], edges: Sequence[tuple[int, int]]) -> _Box:
    """Give each box its place, by layers; the size of all. Edges lead from earlier boxes to later ones."""
    before: list[list[int]] = [[] for _ in boxes]
    after: list[list[int]] = [[] for _ in boxes]
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    depth = [0] * len(boxes)
    for k, sources in enumerate(before):
        depth[k] = max([depth[source] + 1 for source in sources], default=0)
    for k, sources in enumerate(before):
        if not sources and after[k]:
            depth[k] = min([depth[target] for target in after[k]]) - 1
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for k, number in enumerate(depth):
        layers[number].append(k)
    y = 0.0
    widest = max([sum([boxes[k].width + _ACROSS for k in layer]) - _ACROSS for layer in layers], default=0.0)
    for layer in layers:
        wanted = {k: _mean([boxes[s].x + boxes[s].width / 2 for s in before[k]], widest / 2) for k in layer}
        x = (widest - sum([boxes[k].width + _ACROSS for k in layer]) + _ACROSS) / 2
        for k in sorted(layer, key=lambda k: (wanted[k], k)):
            boxes[k].x, boxes[k].y = x, y
            x += boxes[k].width + _ACROSS
        y += max([boxes[k].height for k in layer]) + _DOWN
    return _Box(widest, max(y - _DOWN, 0.0))


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _size(node: Node) -> _Box:
    lines = [line for line in node.label if line]
    return _Box(max(map(len, lines), default=0) * _LETTER + 2 * _PADDING, len(lines) * _LINE + _PADDING)


def _node(node: Node, box: _Box) -> str:
    lines = [line for line in node.label if line]
    middle = box.x + box.width / 2
    texts = [_text(middle, box.y + _LINE * (k + 1), line) for k, line in enumerate(lines)]
    return f'<g class="node {node.kind}">{_rectangle(box, _ROUND[node.kind])}{"".join(texts)}</g>'


def _edge(source: _Box, target: _Box, label: str) -> str:
    """A curve from below one box to above another, with its label near its end."""
    x1, y1 = source.x + source.width / 2, source.y + source.height
    x2, y2 = target.x + target.width / 2, target.y
    bend = (y2 - y1) / 2
    curve = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"
    text = _text((x1 + 3 * x2) / 4, y2 - _DOWN / 4, label) if label else ""
    return f'<g class="edge"><path d="{curve}"/>{text}</g>'


def _rectangle(box: _Box, radius: int) -> str:
    return f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{radius}"/>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
