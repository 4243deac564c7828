"""What passes between a function that is being written and one that is taken out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...base.arith.expr import Expr, Var
from ...lower.tir.nodes.stmt import Buffer, For, Stmt
from .expression import ExpressionEmitter
from .memory import Memory
from .text import FunctionText, ModuleText, Value


@dataclass(slots=True)
class Closure:
    """What an outlined function takes from the function around it: one 8-byte slot each, after the status."""

    outer: Body
    pointer: str
    values: list[tuple[str, str]]  # (type, operand in the outer function)


class Body(Protocol):
    """A function whose statements are being written (`StatementEmitter`), as those see it that write parts of them."""

    module: ModuleText
    f: FunctionText
    name: str
    is_alone: bool
    closure: Closure | None
    can_fail: bool
    expressions: ExpressionEmitter

    def variable(self, var: Var) -> Value: ...

    def buffer(self, buffer: Buffer) -> Memory: ...

    def define_variable(self, var: Var, value: Value) -> None: ...

    def define_buffer(
        self, buffer: Buffer, pointer: str, facts: str = "", like: Buffer | None = None
    ) -> None: ...

    def capture(self, kind: str, operand: str, facts: str = "") -> str: ...

    def data(self) -> str: ...

    def inner(self, role: str, is_alone: bool) -> Body: ...

    def emit(self, stmt: Stmt) -> None: ...

    def evaluate(self, expr: Expr) -> Value: ...

    def operand_position(self, buffer: Buffer) -> int: ...

    def loop(self, stmt: For, minimum: Value, end: Value, guarded: bool) -> None: ...

    def fail_if(self, condition: str) -> None: ...

    def finish(self, result: str, parameters: str, *, is_kernel: bool) -> None: ...
