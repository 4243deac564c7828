"""Executors: what runs programs.

debug.py         the executor of kind "debug"
handover.py      results as arrays of other libraries
building.py      build(): a module, a function or a schedule, by what it is
driver.py        a program compiled; load(): one that was saved
executable.py    Executable: a compiled program
graph.py         the executor of kind "graph"
profiling.py     what kernels cost, and plans as text
graph_runtime.py GraphRuntime: inputs are set, the program runs, outputs are asked for
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...base import Target
from ...base.errors import ExecutorError, did_you_mean
from ...base.late import late
from ...ir import IRModule
from ..compile import Entry, Gate, entered
from ..compile.interpret import (
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
from .driver import CompilingEvaluator, load
from .executable import Executable
from .graph import GraphExecutor
from .handover import asarray

_KINDS: Final = (DebugExecutor.kind, GraphExecutor.kind)


def create_executor(
    kind: str = "debug",
    module: IRModule | None = None,
    target: Target | str | None = None,
    opt_level: int | None = None,
) -> Executor:
    """An executor: "debug" runs op by op through numpy, "graph" compiles for `target` (the host by default).

    `opt_level`: that of the passes, otherwise the current PassContext's; programs of "debug" run as they are written.
    Raises ExecutorError for an unknown kind and for a level that is no int of at least 0.
    """
    if kind not in _KINDS:
        raise ExecutorError(
            f"unknown executor kind {kind!r}; expected one of {', '.join(_KINDS)}{did_you_mean(kind, _KINDS)}"
        )
    if opt_level is not None and (type(opt_level) is not int or opt_level < 0):
        raise ExecutorError(f"opt_level is {opt_level!r:.80}, expected an int of at least 0")
    if kind == DebugExecutor.kind:
        return DebugExecutor(module)
    return GraphExecutor(module, Target.parse(target) if isinstance(target, str) else target, opt_level)


__all__ = [
    "Arrays",
    "CompilingEvaluator",
    "DebugExecutor",
    "Entry",
    "Executable",
    "Executor",
    "Gate",
    "GraphExecutor",
    "GraphRuntime",
    "KernelCost",
    "Profile",
    "Result",
    "Value",
    "array_type",
    "as_array",
    "asarray",
    "bind",
    "build",
    "concrete_types",
    "create_executor",
    "dim_value",
    "entered",
    "load",
    "wrap",
]  # fmt: skip

if TYPE_CHECKING:
    from .graph_runtime import GraphRuntime
    from .profiling import KernelCost, Profile
else:
    __getattr__ = late(
        __name__, {"GraphRuntime": "graph_runtime", "KernelCost": "profiling", "Profile": "profiling"}
    )
