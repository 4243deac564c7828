"""Traces of the library's schedules, replayed: `python -m tests.fuzz traces`.

A case is a declared op: for all its declared cases, the text of the trace gives a schedule that lowers to the same
loop IR.  Those of random schedules are replayed by the campaign `schedules`.
"""

from __future__ import annotations

from typing import Final

from opgen_runtime import ops
from tests.lower.library.traces import check_library

COUNT: Final = len(ops.__all__)


def case(number: int) -> None:
    """One op."""
    check_library(ops.__all__[number % COUNT], 100)
