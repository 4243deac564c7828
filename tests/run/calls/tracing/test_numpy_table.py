"""docs/numpy.md: each row that works is run under `jit`, and every function has a row."""

from __future__ import annotations

import numpy as np
import pytest

from .numpy_draw import why_not_as_numpy
from .numpy_table import PAGE, calls, functions, page, reasons, version


def test_rows_that_work_give_what_numpy_gives() -> None:
    found = {text: why_not_as_numpy(text) for text in calls().values()}
    assert {text: why for text, why in found.items() if why} == {}


def test_every_function_has_a_row() -> None:
    if f"numpy {version()} " not in PAGE.read_text():
        pytest.skip(f"docs/numpy.md is of another numpy than {np.__version__}")
    assert [name for name in functions() if name not in calls() and name not in reasons()] == []
    assert PAGE.read_text() == page()
