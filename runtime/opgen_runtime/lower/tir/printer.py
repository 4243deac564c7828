"""Loop IR as text, for people and for dumps after each phase."""

from __future__ import annotations

from collections.abc import Callable

from ...base.arith import Expr, register_printer
from ...base.arith import to_text as expr_text
from .stmt import (
    Allocate,
    Block,
    Buffer,
    For,
    ForKind,
    HorizontalReduce,
    If,
    LetStmt,
    Load,
    Prefetch,
    PrimFunc,
    Ramp,
    Splat,
    Stmt,
    Store,
)

Text = Callable[[Expr], str]


def _load(node: Load, text: Text) -> str:
    mask = "" if node.mask is None else f"; {text(node.mask)}"
    return f"{node.buffer.name}[{', '.join(text(i) for i in node.indices)}{mask}]"


register_printer(Load, _load)
register_printer(Ramp, lambda node, text: f"ramp({text(node.base)}, {text(node.stride)}, {node.lanes})")
register_printer(Splat, lambda node, text: f"splat({text(node.value)}, {node.lanes})")
register_printer(HorizontalReduce, lambda node, text: f"reduce_{node.combiner}({text(node.value)})")


def to_text(func: PrimFunc) -> str:
    """The kernel as indented text: one statement a line, `f(x: float32[8]) -> (y: float32[8]):` first."""
    inputs = ", ".join(_declared(b) for b in func.inputs)
    outputs = ", ".join(_declared(b) for b in func.outputs)
    lines = [f"{func.name}({inputs}) -> ({outputs}):"]
    _stmt(func.body, 1, lines)
    return "\n".join(lines) + "\n"


def stmt_text(s: Stmt) -> str:
    """A statement as indented text."""
    lines: list[str] = []
    _stmt(s, 0, lines)
    return "\n".join(lines) + "\n"


def _declared(b: Buffer) -> str:
    return f"{b.name}: {b.dtype}[{', '.join(str(d) for d in b.shape)}]"


def _stmt(s: Stmt, depth: int, lines: list[str]) -> None:
    def line(text: str) -> None:
        lines.append("    " * depth + text)

    if isinstance(s, Block):
        for part in s.body:
            _stmt(part, depth, lines)
        if not s.body:
            line("pass")
    elif isinstance(s, Store):
        mask = "" if s.mask is None else f"; {expr_text(s.mask)}"
        indices = ", ".join(expr_text(i) for i in s.indices)
        line(f"{s.buffer.name}[{indices}{mask}] = {expr_text(s.value)}")
    elif isinstance(s, For):
        kind = "" if s.kind is ForKind.SERIAL else f"{s.kind.value} "
        start, extent = expr_text(s.minimum), expr_text(s.extent)
        span = extent if start == "0" else f"{start}, {start} + {extent}"
        line(f"{kind}for {s.var.name} in range({span}):")
        _stmt(s.body, depth + 1, lines)
    elif isinstance(s, If):
        line(f"if {expr_text(s.condition)}:")
        _stmt(s.then, depth + 1, lines)
        if s.otherwise is not None:
            line("else:")
            _stmt(s.otherwise, depth + 1, lines)
    elif isinstance(s, Allocate):
        line(f"allocate {_declared(s.buffer)} {s.buffer.scope}")
        _stmt(s.body, depth, lines)
    elif isinstance(s, Prefetch):
        region = "" if all(n == 1 for n in s.shape) else f" {'x'.join(map(str, s.shape))}"
        line(f"prefetch{region} {s.buffer.name}[{', '.join(expr_text(i) for i in s.indices)}]")
    else:
        assert isinstance(s, LetStmt), s
        line(f"{s.var.name} = {expr_text(s.value)}")
        _stmt(s.body, depth, lines)
