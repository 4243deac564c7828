"""The report: a table of rows in Markdown, with the reason of each that is behind, and what the other parts printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from .roofline import Point
from .workers import OURS, Row, geometric_mean

LEVEL: Final = 0.97  # of the best peer's speed: from there on a row is not behind
UNEXPLAINED: Final = "no reason is known"


def summary(rows: Sequence[Row]) -> str:
    """How many rows are level or ahead, the geometric mean and the least ratio."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if not ratios:
        return "no row has both this project and a peer"
    level = sum(ratio >= LEVEL for ratio in ratios)
    return (
        f"{level} of {len(ratios)} rows level with the best peer or ahead ({LEVEL} or better),"
        f" geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}"
    )


def table(rows: Sequence[Row], peers: Sequence[str]) -> list[str]:
    """A line a row: milliseconds of each peer, the best one in bold, and the best peer's time over ours."""
    lines = [
        f"| row | {' | '.join(peers)} | ratio |",
        f"|---|{'---:|' * (len(peers) + 1)}",
    ]
    for row in rows:
        cells = [_cell(row, peer) for peer in peers]
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        lines.append(f"| {row.name} | {' | '.join(cells)} | {ratio} |")
    return lines


def _cell(row: Row, peer: str) -> str:
    if peer not in row.timings:
        return "!" if peer in row.problems else ""
    text = f"{row.timings[peer].least * 1e3:.3g}"
    return f"**{text}**" if peer == row.best else text


def behind(rows: Sequence[Row], reasons: Mapping[str, str]) -> list[str]:
    """The rows that are behind, the furthest first, each with its reason."""
    late = [(row.ratio, row) for row in rows if row.ratio is not None and row.ratio < LEVEL]
    return [
        f"- {row.name}, {ratio:.2f} of the speed of {row.best}: {reasons.get(row.name, UNEXPLAINED)}"
        for ratio, row in sorted(late, key=lambda each: each[0])
    ]


def points(rows: Sequence[Row], work: Mapping[str, tuple[int, int]]) -> list[Point]:
    """Of the rows that this project runs, where they stand in the roofline."""
    found = []
    for row in rows:
        if OURS in row.timings and row.name in work:
            operations, moved = work[row.name]
            rate = operations / row.timings[OURS].least
            found.append(Point(row.name, operations / moved, rate, row.ratio))
    return found
