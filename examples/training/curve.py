"""A curve as a picture (SVG)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

WIDTH: Final = 480
HEIGHT: Final = 270
_LEFT: Final = 52
_BOTTOM: Final = 34
_TOP: Final = 30


def picture(values: Sequence[float], title: str, across: str, along: str) -> str:
    """The text of a picture of `values` over 1, 2, ...; the axis of values begins at 0."""
    most = max(values) or 1.0
    right, low = WIDTH - 14, HEIGHT - _BOTTOM

    def x(k: int) -> float:
        return _LEFT + (right - _LEFT) * k / max(len(values) - 1, 1)

    def y(value: float) -> float:
        return low - (low - _TOP) * value / most

    points = " ".join(f"{x(k):.1f},{y(value):.1f}" for k, value in enumerate(values))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-size="13">{title}</text>',
    ]
    for part in range(5):
        value = most * part / 4
        lines += [
            f'<line x1="{_LEFT}" y1="{y(value):.1f}" x2="{right}" y2="{y(value):.1f}" stroke="#ddd"/>',
            f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>',
        ]
    for k in sorted({0, (len(values) - 1) // 2, len(values) - 1}):
        lines.append(f'<text x="{x(k):.1f}" y="{low + 15}" text-anchor="middle">{k + 1}</text>')
    lines += [
        f'<text x="{right}" y="{HEIGHT - 4}" text-anchor="end">{across}</text>',
        f'<text x="6" y="{_TOP - 8}">{along}</text>',
        f'<polyline points="{points}" fill="none" stroke="#1f6feb" stroke-width="2"/>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
