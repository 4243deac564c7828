"""What is generated is the same to the byte in every process, whatever its hash seed, collector and allocator do."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from tests.library import declarations
from tests.opgen.generated_texts import ADDRESS
from tests.opgen.safety.harness import FULL

ROOT: Final = Path(__file__).resolve().parents[2]
# Ops whose refusals tell of functions, ordered sets of names, layouts; beside them a few of all.
TELLING: Final = ("quantize", "dequantize", "requantize", "concatenate", "layout_transform")
PROCESSES: Final = 20 if FULL else 3
_ALLOCATORS: Final = ("pymalloc", "malloc", "malloc_debug")


def environment(number: int) -> dict[str, str]:
    """Settings of a process that must not matter."""
    chooser = random.Random(number)
    return {
        **os.environ,
        "PYTHONHASHSEED": str(number) if number else "random",
        "PYTHONMALLOC": _ALLOCATORS[number % 3] if FULL else _ALLOCATORS[number % 2],
        "MALLOC_PERTURB_": str(chooser.randrange(256)),
        "MALLOC_ARENA_MAX": str(chooser.randrange(1, 9)),
        "MALLOC_TOP_PAD_": str(chooser.randrange(1 << 20)),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runtime")]),
    }


@cache
def chosen_ops() -> tuple[str, ...]:
    """All ops in the full suite."""
    others = [declared.name for declared in declarations() if declared.name not in TELLING]
    return () if FULL else (*TELLING, *random.Random(0).sample(others, 3))


def made(number: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.opgen.generated_texts", str(number), *chosen_ops()]
    done = subprocess.run(command, cwd=ROOT, env=environment(number), capture_output=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_process_makes_the_same() -> None:
    first = made(0)
    assert first["addresses"] == []
    assert len(first["files"]) >= 2 * max(len(chosen_ops()), 1)
    for number in range(1, PROCESSES):
        other = made(number)
        different = [name for name, digest in other["files"].items() if first["files"].get(name) != digest]
        assert different == [], f"process {number} differs: {different}"
        assert other == first, f"the messages of process {number} are others"


@pytest.mark.parametrize("folder", ["runtime/opgen_runtime/ops", "tests/generated"])
def test_no_generated_file_holds_an_address(folder: str) -> None:
    files = list((ROOT / folder).glob("*.py*"))
    assert len(files) > 200
    assert [path.name for path in files if ADDRESS.search(path.read_text(encoding="utf-8"))] == []
