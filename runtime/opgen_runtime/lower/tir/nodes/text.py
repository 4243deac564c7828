"""Loop IR as text: for people, for dumps after each phase, and for `parse`, which reads it back.

    f(x: float32[8]) -> (y: float32[8]):
        parallel for i in range(8):
            y[i] = x[i] * 2.0

A literal has its dtype, `int32(3)`, where that is not `index` for an integer and `float32` for a number with a point.
`allocate`, a name's value and columns hold to the end of their block; where they end before it, what they hold for is
indented below them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ....base.arith import free_vars, register_printer
from ....base.arith import to_text as expression_text
from ....base.arith.expr import Binary, Const, Expr, Var
from ....base.arith.structural import shared_parts
from ....base.vocabulary import INDEX
from ...schedule.stages.kind import ForKind
from .naming import named, named_stmt
from .stmt import (
    Aligned,
    Allocate,
    Block,
    Buffer,
    CallPacked,
    For,
    HorizontalReduce,
    If,
    LetStmt,
    Load,
    Outlined,
    Packed,
    Prefetch,
    PrimFunc,
    Ramp,
    Repetition,
    Shuffle,
    Splat,
    Stmt,
    Store,
    TransposedLoad,
)

Text = Callable[[Expr], str]
_OPEN: Final = (Allocate, LetStmt, TransposedLoad)  # what follows them in their block stands inside them


def _load(node: Load, text: Text) -> str:
    mask = "" if node.mask is None else f"; {text(node.mask)}"
    return f"{node.buffer.name}[{', '.join(text(i) for i in node.indices)}{mask}]"


register_printer(Load, _load)
register_printer(Ramp, lambda node, text: f"ramp({text(node.base)}, {text(node.stride)}, {node.lanes})")
register_printer(Splat, lambda node, text: f"splat({text(node.value)}, {node.lanes})")
register_printer(Packed, lambda node, text: f"packed({text(node.value)}; {text(node.mask)})")
register_printer(
    Shuffle, lambda node, text: f"shuffle({', '.join(map(text, node.vectors))}; {_numbers(node.indices)})"
)
register_printer(Aligned, lambda node, _: f"aligned({', '.join(b.name for b in node.buffers)}; {node.bytes})")
register_printer(HorizontalReduce, lambda node, text: f"reduce_{node.combiner}({text(node.value)})")


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def to_text(func: PrimFunc) -> str:
    """The kernel as indented text: one statement a line, `f(x: float32[8]) -> (y: float32[8]):` first.

    What the target says (its vectors, its caches) is not in it.  Where two names that can be read in one place are the
    same, the inner one gets a number.
    """
    func, name = named(func)
    inputs, outputs = (", ".join(map(_declared, part)) for part in (func.inputs, func.outputs))
    lines = [f"{name}({inputs}) -> ({outputs}):"]
    dims = ", ".join(map(_dim, func.dims))
    if any(_facts(dim) for dim in func.dims) or func.dims != dims_of(func.inputs, func.outputs):
        lines.append(f"    dims {dims}" if dims else "    dims")
    for seen in func.seen:
        output, count = func.outputs[seen.output], func.outputs[seen.count]
        lines.append(f"    seen {output.name}: {count.name} rows of {seen.width}")
    _stmt(func.body, 1, lines)
    return "\n".join(lines) + "\n"


def stmt_text(s: Stmt) -> str:
    """A statement as indented text."""
    lines: list[str] = []
    _stmt(named_stmt(s), 0, lines)
    return "\n".join(lines) + "\n"


def dims_of(inputs: Iterable[Buffer], outputs: Iterable[Buffer]) -> tuple[Var, ...]:
    """The dims in the shapes of parameters, in the order in which they stand there."""
    dims = [dim for buffer in (*inputs, *outputs) for dim in buffer.shape if isinstance(dim, Expr)]
    return tuple(dict.fromkeys(var for dim in dims for var in free_vars(dim)))


def expr_text(e: Expr) -> str:
    """An expression; equal parts of a long one are written once, whether they are one node or not."""
    return expression_text(shared_parts(e))


def _declared(b: Buffer) -> str:
    return f"{b.name}: {b.dtype}[{', '.join(str(d) for d in b.shape)}]"


def _facts(dim: Var) -> str:
    """What is known of a dim beside that it is one; what schedules took it for is decided."""
    most = "" if dim.most is None else f" to {dim.most}"
    return f" from {dim.least}{most}" if dim.least or most else ""


def _dim(dim: Var) -> str:
    return f"{dim.name}{_facts(dim)}"


def _stmt(s: Stmt, depth: int, lines: list[str], is_last: bool = True) -> None:
    if isinstance(s, Block):
        if not s.body:
            lines.append(_indented(depth, "pass"))
        for position, part in enumerate(s.body):
            _stmt(part, depth, lines, is_last and position == len(s.body) - 1)
    elif isinstance(s, _OPEN):
        text = _opening(s)
        lines.append(_indented(depth, text if is_last else f"{text}:"))
        _stmt(s.body, depth if is_last else depth + 1, lines)
    elif isinstance(s, For):
        lines.append(_indented(depth, _loop(s)))
        _stmt(s.body, depth + 1, lines)
    elif isinstance(s, If):
        lines.append(_indented(depth, f"if {expr_text(s.condition)}:"))
        _stmt(s.then, depth + 1, lines)
        if s.otherwise is not None:
            lines.append(_indented(depth, "else:"))
            _stmt(s.otherwise, depth + 1, lines)
    elif isinstance(s, Outlined):
        lines.append(_indented(depth, "outlined:"))
        _stmt(s.body, depth + 1, lines)
    elif isinstance(s, Repetition):
        _repetition(s, depth, lines)
    else:
        lines.append(_indented(depth, _simple(s)))


def _indented(depth: int, text: str) -> str:
    return "    " * depth + text


def _opening(s: Stmt) -> str:
    """The line that makes a buffer or gives names their values."""
    if isinstance(s, Allocate):
        return f"allocate {_declared(s.buffer)} {s.buffer.scope}"
    if isinstance(s, LetStmt):
        return f"{s.var.name} = {expr_text(s.value)}"
    assert isinstance(s, TransposedLoad), s
    count = "" if s.count is None else f", {expr_text(s.count)}"
    return f"{', '.join(var.name for var in s.variables)} = transpose({expr_text(s.load)}{count})"


def _simple(s: Stmt) -> str:
    """A statement without others inside it."""
    if isinstance(s, Prefetch):
        region = "" if all(n == 1 for n in s.shape) else f" of {_numbers(s.shape)}"
        return f"prefetch {s.buffer.name}[{', '.join(expr_text(i) for i in s.indices)}]{region}"
    if isinstance(s, CallPacked):
        operands = ", ".join([operand.name for operand in s.operands])
        return f"{s.target.name} = call_packed {s.name}({operands})[{s.output}]"
    assert isinstance(s, Store), s
    mask = "" if s.mask is None else f"; {expr_text(s.mask)}"
    indices = ", ".join(expr_text(i) for i in s.indices)
    how = "nontemporal " if s.nontemporal else ""
    return f"{how}{s.buffer.name}[{indices}{mask}] = {expr_text(s.value)}"


def _loop(s: For) -> str:
    kind = "" if s.kind is ForKind.SERIAL else f"{s.kind.value} "
    start = expr_text(s.minimum)
    if isinstance(s.minimum, Const) and s.minimum.value == 0:
        span = expr_text(s.extent) if s.step == 1 else f"0, {expr_text(s.extent)}"
    else:
        span = f"{start}, {expr_text(Binary(INDEX, 'add', s.minimum, s.extent))}"
    step = "" if s.step == 1 else f", {s.step}"
    held = "" if s.condition is None else f" while {expr_text(s.condition)}"
    held += "" if s.work is None else f" of {expr_text(s.work)} operations"
    return f"{kind}for {s.var.name} in range({span}{step}){held}:"


def _repetition(s: Repetition, depth: int, lines: list[str]) -> None:
    for number, kind in enumerate(s.kinds):
        columns = [_declared(each) if isinstance(each, Buffer) else each.name for each in kind.columns]
        lines.append(_indented(depth, f"kind {number}({', '.join(columns)}):"))
        _stmt(kind.statement, depth + 1, lines)
    for number, values in s.rows:
        cells = [each.name if isinstance(each, Buffer) else str(each) for each in values]
        lines.append(_indented(depth, f"do {number}({', '.join(cells)})"))
