"""Tensor expressions as text, for people."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.arith import Dim, Expr
from ...base.arith import to_text as expr_text
from ...base.errors import shown
from .graph import Statement, tensor_order
from .loop_ir import LoopIRFunction
from .tensor import Compute, Extern, Guard, IterVar, Loop, Placeholder, Scan, Sort, Tensor, Update

_OPERATORS = {"=": "=", "add": "+=", "mul": "*=", "and": "&=", "or": "|=", "xor": "^="}


def to_text(outputs: Sequence[Tensor]) -> str:
    """Every tensor that the outputs need, producers first: its name, indices, type and definition.

    a: float32[n, 4]
    b[i0, i1]: float32[n, 4] = exp(a[i0, i1])
    """
    lines: list[str] = []
    scans: set[int] = set()
    for tensor in tensor_order(outputs):
        op = tensor.op
        if isinstance(op, Scan):
            if id(op) not in scans:
                scans.add(id(op))
                lines.extend(_scan(op))
        elif isinstance(op, Compute):
            lines.append(f"{_left(tensor, op.axes)} = {expr_text(op.body)}")
        elif isinstance(op, Update):
            lines.append(f"{_head(tensor)} = {op.base.name}, then")
            lines.extend(_statements(tensor, op.body, "    "))
        elif isinstance(op, Sort):
            lines.append(f"{_head(tensor)} = {_sorted(op)}")
        elif isinstance(op, Extern):
            operands = ", ".join(t.name for t in op.operands)
            attrs = "".join(f", {k}={shown(v)}" for k, v in op.attrs)
            lines.append(f"{_head(tensor)} = {_called(op)}({operands}{attrs})[{op.output}]")
        else:
            assert isinstance(op, Placeholder)
            lines.append(_head(tensor))
    return "\n".join(lines) + "\n"


def _sorted(op: Sort) -> str:
    what = "argsort" if op.positions else "sort"
    return f"{what}({op.source.name}, axis={op.axis}{', descending' * op.descending})"


def _called(op: Extern) -> str:
    function = op.function
    if isinstance(function, LoopIRFunction):
        return function.name
    return getattr(function, "__qualname__", shown(function))


def _dim(d: Dim) -> str:
    return expr_text(d) if isinstance(d, Expr) else str(d)


def _head(tensor: Tensor) -> str:
    return f"{tensor.name}: {tensor.dtype}[{', '.join(_dim(d) for d in tensor.shape)}]"


def _left(tensor: Tensor, axes: tuple[IterVar, ...]) -> str:
    dims = ", ".join(_dim(d) for d in tensor.shape)
    return f"{tensor.name}[{', '.join(a.var.name for a in axes) or '()'}]: {tensor.dtype}[{dims}]"


def _scan(op: Scan) -> list[str]:
    row = op.states[0].axes[op.states[0].scan_axis].var.name
    way = "upwards" if op.direction > 0 else "downwards"
    lines = [f"scan {row} in range({_dim(op.extent)}) {way}:"]
    for state in op.states:
        assert state.tensor is not None
        assert state.body is not None
        lines.append(f"    {_left(state.tensor, state.axes)} = {expr_text(state.body)}")
    return lines


def _statements(tensor: Tensor, body: tuple[Statement, ...], indent: str) -> list[str]:
    lines: list[str] = []
    for statement in body:
        if isinstance(statement, Loop):
            lines.append(f"{indent}for {statement.axis.var.name} in range({_dim(statement.axis.extent)}):")
            lines.extend(_statements(tensor, statement.body, indent + "    "))
        elif isinstance(statement, Guard):
            lines.append(f"{indent}if {expr_text(statement.condition)}:")
            lines.extend(_statements(tensor, statement.body, indent + "    "))
        else:
            target = f"{tensor.name}[{', '.join(expr_text(i) for i in statement.indices) or '()'}]"
            value = expr_text(statement.value)
            if statement.op in _OPERATORS:
                lines.append(f"{indent}{target} {_OPERATORS[statement.op]} {value}")
            else:
                lines.append(f"{indent}{target} = {statement.op}({target}, {value})")
    return lines
