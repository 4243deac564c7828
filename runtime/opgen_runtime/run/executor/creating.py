"""`create_executor`: an executor by its kind."""

from __future__ import annotations

from typing import Final

from ...base import Target
from ...base.errors import ExecutorError, did_you_mean
from ...ir import IRModule
from .base import Executor
from .debug import DebugExecutor
from .graph import GraphExecutor

_KINDS: Final = (DebugExecutor.kind, GraphExecutor.kind)


def create_executor(
    kind: str = "debug",
    module: IRModule | None = None,
    target: Target | str | None = None,
    opt_level: int | None = None,
) -> Executor:
    """An executor: "debug" runs op by op through numpy, "graph" compiles for `target` (the current one by default).

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
    return GraphExecutor(module, Target.current() if target is None else Target.parse(target), opt_level)
