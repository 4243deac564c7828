"""What was measured of each architecture, as a table in Markdown, and beside the goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.bench.workers import geometric_mean

TOLERANCE: Final = 2e-4  # of the largest output
_HEAD: Final = (
    "architecture", "ms", "ort ms", "ratio", "error", "cold s", "ort s", "ratio", "from cache", "peak MiB", "ort MiB",
    "ratio", "from cache",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Side:
    """Of one side: seconds of a run, seconds to the first result of a process, bytes resident until then at most."""

    run: float
    first: float
    peak: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One architecture: `ours` from a filled cache, `cold` from nothing (`cold.run` is that of `ours`), onnxruntime's,
    and the largest difference of results as a share of the largest."""

    name: str
    ours: Side
    cold: Side
    reference: Side
    error: float

    @property
    def is_right(self) -> bool:
        return self.error <= TOLERANCE

    @property
    def row(self) -> str:
        shares = [share(self) for share in SHARES.values()]
        cells = [
            self.name, f"{self.ours.run * 1e3:.2f}", f"{self.reference.run * 1e3:.2f}", f"{shares[0]:.2f}",
            f"{self.error:.0e}" if self.is_right else f"**{self.error:.0e}**",
            f"{self.cold.first:.2f}", f"{self.reference.first:.2f}", f"{shares[1]:.1f}", f"{shares[2]:.2f}",
            f"{self.cold.peak / 2**20:.0f}", f"{self.reference.peak / 2**20:.0f}", f"{shares[3]:.2f}",
            f"{shares[4]:.2f}",
        ]  # fmt: skip
        return f"| {' | '.join(cells)} |"


# Ours over onnxruntime's: below 1 is less.
SHARES: Final[dict[str, Callable[[Measured], float]]] = {
    "time of a run": lambda each: each.ours.run / each.reference.run,
    "first result without a cache": lambda each: each.cold.first / each.reference.first,
    "first result from the cache": lambda each: each.ours.first / each.reference.first,
    "peak memory without a cache": lambda each: each.cold.peak / each.reference.peak,
    "peak memory from the cache": lambda each: each.ours.peak / each.reference.peak,
}
# The most of each share that holds: in geometric mean, and of any one.
_NONE: Final = float("inf")
GOALS: Final[dict[str, tuple[float, float]]] = {
    "time of a run": (0.82, 1.05),
    "first result without a cache": (4, 8),
    "first result from the cache": (0.8, _NONE),
    "peak memory without a cache": (1.4, _NONE),
    "peak memory from the cache": (1.0, _NONE),
}
HEAD: Final = (f"| {' | '.join(_HEAD)} |", f"|---|{'---:|' * (len(_HEAD) - 1)}")


def summary(found: Sequence[Measured]) -> list[str]:
    """A line each: how many are right and ahead, and a table of the shares' geometric means and worst beside goals."""
    right = sum(each.is_right for each in found)
    ahead = sum(each.ours.run <= each.reference.run for each in found)
    lines = [
        f"{right} of {len(found)} right to {TOLERANCE:.0e} of the largest output, {ahead} level or ahead.",
        "",
        "| ours over onnxruntime's | geometric mean | goal | worst | goal | of | holds |",
        "|---|---:|---:|---:|---:|---|---|",
    ]
    for name, share in SHARES.items() if found else ():
        shares = [share(each) for each in found]
        mean, worst = geometric_mean(shares), max(shares)
        cells = [f"{mean:.2f}", f"{GOALS[name][0]:g}", f"{worst:.2f}", _goal(GOALS[name][1])]
        holds = mean <= GOALS[name][0] and worst <= GOALS[name][1]
        of = found[shares.index(worst)].name
        lines.append(f"| {name} | {' | '.join(cells)} | {of} | {'yes' if holds else 'no'} |")
    return lines


def _goal(limit: float) -> str:
    return "" if limit == _NONE else f"{limit:g}"
