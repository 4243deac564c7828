"""Executors: what runs programs.

debug.py         the executor of kind "debug"
handover.py      results as arrays of other libraries
building.py      build(): a function or a schedule, by what it is
executable.py    a function compiled; Executable: running it
graph.py         the executor of kind "graph"
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Final

from ...base.errors import ExecutorError
from ...base.target import Target
from ...ir import IRModule
from ..compile import Entry
from ..interpret import (
    Arrays,
    Result,
    Value,
    array_type,
    as_array,
    bind,
    concrete_types,
    dim_value,
    wrap,
)
from .base import Executor
from .building import build
from .debug import DebugExecutor
from .executable import CompilingEvaluator, Executable
from .graph import GraphExecutor
from .handover import asarray

_KINDS: Final[dict[str, Callable[[IRModule | None, Target | None], Executor]]] = {
    "debug": lambda module, target: DebugExecutor(module),
    "graph": GraphExecutor,
}


def create_executor(
    kind: str = "debug", module: IRModule | None = None, target: Target | str | None = None
) -> Executor:
    """An executor: "debug" runs op by op through numpy, "graph" compiles for `target` (the host by default).

    Raises ExecutorError for an unknown kind.
    """
    if kind not in _KINDS:
        near = difflib.get_close_matches(kind, _KINDS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ExecutorError(f"unknown executor kind {kind!r}; expected one of {', '.join(_KINDS)}{hint}")
    return _KINDS[kind](module, Target.parse(target) if isinstance(target, str) else target)


__all__ = [
    "Arrays", "CompilingEvaluator", "DebugExecutor", "Entry", "Executable", "Executor", "GraphExecutor", "Result",
    "Value", "array_type", "as_array", "asarray", "bind", "build", "concrete_types", "create_executor", "dim_value",
    "wrap",
]  # fmt: skip
