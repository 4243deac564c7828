"""Loops that a schedule has unrolled where they are short (`stage.pragma(axis, "auto_unroll_max_step", 16)`)."""

from __future__ import annotations

from dataclasses import replace

from ....base.arith import Const
from ...schedule import ForKind
from ..nodes.stmt import Allocate, Block, For, If, LetStmt, Stmt
from ..nodes.visit import StmtMutator


def auto_unrolled(body: Stmt, max_steps: int) -> Stmt:
    """The statement with its serial loops unrolled, innermost first, as long as one becomes `max_steps` statements at
    most and holds no loop that stays."""
    return _Unrolling(max_steps).stmt(body)


class _Unrolling(StmtMutator):
    def __init__(self, max_steps: int) -> None:
        self.max_steps = max_steps

    def loop(self, s: For) -> Stmt:
        made = super().loop(s)
        assert isinstance(made, For)
        unrolled = replace(made, kind=ForKind.UNROLLED)
        steps = _steps(unrolled) if made.kind is ForKind.SERIAL else None
        return unrolled if steps is not None and steps <= self.max_steps else made


def _steps(s: Stmt) -> int | None:
    """The statements that one becomes; None where a loop of it stays."""
    if isinstance(s, For):
        inner = _steps(s.body)
        if s.kind is not ForKind.UNROLLED or not isinstance(s.extent, Const) or inner is None:
            return None
        return int(s.extent.value) * inner
    if isinstance(s, Block):
        return _sum([_steps(part) for part in s.body])
    if isinstance(s, If):
        return _sum([_steps(part) for part in (s.then, s.otherwise) if part is not None])
    return _steps(s.body) if isinstance(s, Allocate | LetStmt) else 1


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
