"""The version that saved programs hold is the package's."""

from __future__ import annotations

import tomllib
from pathlib import Path

from opgen_runtime.base.version import VERSION

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_version_is_that_of_the_project() -> None:
    assert tomllib.loads(PROJECT.read_text())["project"]["version"] == VERSION
