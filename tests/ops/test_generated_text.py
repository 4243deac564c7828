"""How much text is generated for the library: lines in all, and the longest file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
MODULES: Final = ROOT / "runtime" / "opgen_runtime" / "ops"
SUITES: Final = ROOT / "tests" / "generated"
LINES_AN_OP: Final = 163  # of module and suite: 40,000 for the first 245 ops
LONGEST: Final = 300
LONGEST_OF_RESIZE: Final = 400  # ONNX's Resize with all its modes, once for each number of axes


def lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def test_figures(capsys: pytest.CaptureFixture[str]) -> None:
    modules = {path: lines(path) for path in sorted(MODULES.glob("_*.py")) if path.name != "__init__.py"}
    suites = {path: lines(path) for path in sorted(SUITES.glob("test_*.py"))}
    assert [path.stem.removeprefix("_") for path in modules] == [path.stem[5:] for path in suites]
    every = {**modules, **suites}
    ordered = sorted(every, key=lambda path: -every[path])
    with capsys.disabled():
        listed = ", ".join(f"{path.name} {every[path]}" for path in ordered[:5])
        print(
            f"\ngenerated for {len(modules)} ops: {sum(modules.values())} lines of modules, "
            f"{sum(suites.values())} of suites; the longest: {listed}"
        )
    assert sum(every.values()) <= LINES_AN_OP * len(modules)
    too_long = {
        path.name: count
        for path, count in every.items()
        if count > (LONGEST_OF_RESIZE if "resize" in path.name else LONGEST)
    }
    assert too_long == {}
