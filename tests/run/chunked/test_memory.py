"""What is said of a task's memory, beside what a process has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .peaks import measured


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells no peak of a process")
@pytest.mark.parametrize("name", ["conv2d", "product"])
def test_it_is_what_a_process_has(name: str, tmp_path: Path) -> None:
    found = measured(name, 0, str(tmp_path))
    assert found["held"] + found["said"] == pytest.approx(found["held"] + found["measured"], rel=0.2)
    assert found["said"] >= 32 << 20
