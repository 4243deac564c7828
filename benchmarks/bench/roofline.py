"""A roofline picture as SVG: what each row reaches beside the most that memory and arithmetic allow.

    attainable = min(operations a second, intensity * bytes a second), intensity = operations / bytes

after S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from .machine import Roofs

_WIDTH: Final = 1000
_HEIGHT: Final = 640
_LEFT: Final = 70
_BOTTOM: Final = 60
_LABEL_ROOM: Final = 11  # pixels between the labels of two points
_STYLE: Final = (
    "text{font:12px sans-serif;fill:#222}.axis{stroke:#ccc}.roof{stroke:#444;stroke-width:2;fill:none}"
    ".ahead{fill:#1a7f37}.behind{fill:#c4371f}.alone{fill:#666}.small{font-size:10px}"
)


@dataclass(frozen=True, slots=True)
class Point:
    """A row: its operations a byte, its operations a second, and the best peer's time over ours."""

    name: str
    intensity: float
    rate: float
    ratio: float | None


@dataclass(frozen=True, slots=True)
class _Scale:
    """Logarithmic: `low` to `high` on pixels `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        return self.start + share * (self.end - self.start)

    def decades(self) -> list[float]:
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        return [10.0**power for power in range(first, last + 1)]


def picture(points: Sequence[Point], roofs: Roofs, title: str) -> str:
    """The picture: both axes logarithmic, a dot for each row, named with its ratio."""
    intensities, rates = [each.intensity for each in points], [each.rate for each in points]
    x = _Scale(min([0.05, *intensities]) / 1.5, max([200.0, *intensities]) * 1.5, _LEFT, _WIDTH - 20)
    y = _Scale(min([1e9, *rates]) / 2, max([roofs.operations, *rates]) * 2, _HEIGHT - _BOTTOM, 40)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<style>{_STYLE}</style><rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="22">{escape(title)}</text>',
    ]
    for value in x.decades():
        parts.append(_line(x(value), 40, x(value), _HEIGHT - _BOTTOM))
        parts.append(
            f'<text x="{x(value):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{value:g}</text>'
        )
    for value in y.decades():
        parts.append(_line(_LEFT, y(value), _WIDTH - 20, y(value)))
        parts.append(f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value / 1e9:g}</text>')
    parts.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 14}" text-anchor="middle">operations a byte</text>')
    parts.append(
        f'<text transform="translate(18 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">10⁹ operations a second</text>'
    )
    ridge = roofs.operations / roofs.bytes
    line = [(x.low, x.low * roofs.bytes), (ridge, roofs.operations), (x.high, roofs.operations)]
    path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in line if b >= y.low)
    parts.append(f'<polyline class="roof" points="{path}"/>')
    parts.append(
        f'<text x="{_WIDTH - 24}" y="{y(roofs.operations) - 6:.1f}" text-anchor="end">'
        f"{roofs.operations / 1e9:.0f} · 10⁹ operations/s, {roofs.bytes / 1e9:.0f} GB/s, {roofs.threads} threads</text>"
    )
    parts += _labelled([(x(each.intensity), y(each.rate), each) for each in points])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="axis" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _labelled(placed: Sequence[tuple[float, float, Point]]) -> list[str]:
    """Dots with their names, each moved down until it covers no other."""
    parts: list[str] = []
    taken: list[tuple[float, float, float]] = []
    for across, down, point in sorted(placed, key=lambda each: (each[1], each[0])):
        kind = "alone" if point.ratio is None else "ahead" if point.ratio >= 1 else "behind"
        text = point.name if point.ratio is None else f"{point.name} {point.ratio:.2f}"
        width, at = 6.0 * len(text), down + 3
        left = across - 8 - width if across + 8 + width > _WIDTH - 10 else across + 7
        while any(
            abs(at - other) < _LABEL_ROOM and left < end and begin < left + width
            for begin, end, other in taken
        ):
            at += _LABEL_ROOM
        taken.append((left, left + width, at))
        parts.append(f'<circle class="{kind}" cx="{across:.1f}" cy="{down:.1f}" r="4"/>')
        parts.append(f'<text class="small {kind}" x="{left:.1f}" y="{at:.1f}">{escape(text)}</text>')
    return parts
