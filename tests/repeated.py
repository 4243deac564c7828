"""Places of hand-written code that say the same: six or more equal lines.

    python -m tests.repeated

Lines are compared without their indentation; blank ones, comments and imports do not count.  A run is as long as both
places agree, and is listed once for each pair of places; within a file only runs that do not overlap.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
LEAST: Final = 6
FOLDERS: Final = ("opgen", "runtime/opgen_runtime", "scripts", "benchmarks", "tests")
# Printed by opgen, or kept as another project has it.
NOT_OURS: Final = (
    "runtime/opgen_runtime/ops/",
    "runtime/opgen_runtime/transform/declared/",
    "tests/generated/",
    "benchmarks/workloads.py",
)
_WORDS: Final = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Line:
    """A line that counts, and its number in the file."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Repeated:
    """Two places that agree; `lines` of them count."""

    first: str
    first_line: int
    second: str
    second_line: int
    lines: int

    def __str__(self) -> str:
        return f"{self.first}:{self.first_line} ~ {self.second}:{self.second_line}: {self.lines} lines"


def sources(root: Path = ROOT) -> dict[str, str]:
    """The hand-written Python files, by their paths below the root."""
    paths = (path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py")))
    named = ((path.relative_to(root).as_posix(), path) for path in paths)
    return {name: path.read_text(encoding="utf-8") for name, path in named if not name.startswith(NOT_OURS)}


def repeated(texts: dict[str, str], least: int = LEAST) -> list[Repeated]:
    """Every pair of places that agree in `least` lines or more, the longest first."""
    files = {name: _counted(text) for name, text in texts.items()}
    windows: defaultdict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, lines in files.items():
        for start in range(len(lines) - least + 1):
            windows[tuple(line.text for line in lines[start : start + least])].append((name, start))
    found: set[tuple[str, int, str, int]] = set()
    for places in windows.values():
        for k, first in enumerate(places):
            found.update((*first, *second) for second in places[k + 1 :])
    made = [_run(files, each, least) for each in sorted(found) if _before(each) not in found]
    return sorted((run for run in made if run is not None), key=lambda run: -run.lines)


def _before(pair: tuple[str, int, str, int]) -> tuple[str, int, str, int]:
    return pair[0], pair[1] - 1, pair[2], pair[3] - 1


def _run(files: dict[str, Sequence[Line]], pair: tuple[str, int, str, int], least: int) -> Repeated | None:
    first, start, second, other = pair
    count = 0
    for mine, theirs in zip(files[first][start:], files[second][other:], strict=False):
        if mine.text != theirs.text or (first == second and start + count >= other):
            break
        count += 1
    if count < least:
        return None
    return Repeated(first, files[first][start].number, second, files[second][other].number, count)


def _counted(text: str) -> list[Line]:
    """The lines that count: not blank, no comment, no import, no bracket alone."""
    skipped = set(_imports(ast.parse(text)))
    return [
        Line(number, line.strip())
        for number, line in enumerate(text.splitlines(), 1)
        if number not in skipped and _WORDS.search(line) and not line.lstrip().startswith("#")
    ]


def _imports(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def listed(found: Iterable[Repeated]) -> str:
    return "\n".join(map(str, found))


def main() -> None:
    found = repeated(sources())
    print(listed(found))
    print(f"{len(found)} pairs of places with {LEAST} or more equal lines")


if __name__ == "__main__":
    main()
