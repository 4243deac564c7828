"""What pytest shows of a failing suite: its own lines, none of the checks'."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opgen_runtime import ops, testing
from opgen_runtime.operator.registry import Op
from opgen_runtime.testing import Case

OP = Op.get("abs")
CASE = Case({"data": "float32[3]"}, {})


@pytest.mark.parametrize(
    "check",
    [
        lambda: testing.check_values(OP, CASE, lambda data: data + 1, "debug"),
        lambda: testing.check_interface(OP, ops.abs, {"axis": "int"}),
        lambda: testing.check_refused(OP, CASE, "TypeInferenceError"),
    ],
)
def test_the_last_line_shown_is_the_suites(check: Callable[[], None]) -> None:
    with pytest.raises(AssertionError) as raised:
        check()
    shown = raised.traceback.filter(raised)
    assert len(shown) < len(raised.traceback)
    assert str(shown[-1].path) == __file__
