"""docs/numpy.md: each row that works is run under `jit`, and every function has a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt

from .numpy_table import ARRAYS, PAGE, calls, functions, page, reasons, version


def flat(value: Any) -> list[Any]:
    return [one for each in value for one in flat(each)] if isinstance(value, list | tuple) else [value]


def test_rows_that_work_give_what_numpy_gives() -> None:
    wrong: list[str] = []
    for text in calls().values():
        code = compile(text, "<numpy>", "eval")
        used = [name for name in ARRAYS if name in code.co_names]
        arrays = [ARRAYS[name] for name in used]

        def function(*values: Any, code: Any = code, used: Any = tuple(used)) -> Any:
            return eval(code, {"np": np, **dict(zip(used, values, strict=True))})

        with np.errstate(all="ignore"):
            expected = flat(function(*arrays))
            try:
                found = flat(rt.jit(function)(*arrays))
            except Exception as error:  # whatever it is, the row is wrong
                wrong.append(f"{text}: {type(error).__name__}: {str(error).splitlines()[0]}")
                continue
        for mine, theirs in zip(found, expected, strict=True):
            x, y = np.asarray(mine), np.asarray(theirs)
            if (x.dtype, x.shape) != (y.dtype, y.shape):
                wrong.append(f"{text}: {x.dtype}{x.shape}, not {y.dtype}{y.shape}")
            elif y.dtype.kind in "bifu" and not np.allclose(x, y, rtol=1e-13, atol=1e-13, equal_nan=True):
                wrong.append(f"{text}: {x}, not {y}")
    assert wrong == []


def test_every_function_has_a_row() -> None:
    if f"numpy {version()} " not in PAGE.read_text():
        pytest.skip(f"docs/numpy.md is of another numpy than {np.__version__}")
    assert [name for name in functions() if name not in calls() and name not in reasons()] == []
    assert PAGE.read_text() == page()
