"""Loads of the columns of a square of elements: its rows are read, and transposed in registers.

columns = transpose(a[i + k*s : i + k*s + lanes] for k in range(lanes))

Of a square there may be a part only: the first columns, and rows under a mask.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base.vocabulary import BOOL, INDEX
from ...lower.tir.nodes.stmt import Ramp, TransposedLoad
from . import arithmetic, memory
from .closure import Body
from .memory import Memory
from .text import FunctionText, Value, constant, ramp, register, splat
from .text.types import memory_type, register_type


def load(body: Body, stmt: TransposedLoad) -> None:
    """Define the variables of the columns."""
    f, node, lanes = body.f, stmt.load, len(stmt.variables)
    rest = None if stmt.count is None else body.evaluate(stmt.count)
    emit = body.expressions.emit
    body.expressions.forget()
    index = node.indices[0]
    assert isinstance(index, Ramp)
    mask = None if node.mask is None else emit(node.mask)
    first, stride = emit(index.base), emit(index.stride)
    source, rows = body.buffer(node.buffer), []
    for k in range(lanes):
        offset = arithmetic.binary(f, "mul", constant(INDEX, k), stride)
        rows.append(memory.load_row(f, source, first, offset, lanes, _row_mask(f, k, lanes, rest, mask)))
    for var, text in zip(stmt.variables, _transposed(f, source, rows), strict=True):
        body.define_variable(var, memory.from_memory(f, source.dtype, lanes, text))


def _row_mask(
    f: FunctionText, number: int, lanes: int, rest: Value | None, mask: Value | None
) -> Value | None:
    """Where a row is read: the first `rest` columns of it, if its lane of the mask holds."""
    where = None
    if rest is not None:
        steps = ramp(constant(INDEX, 0), 1, lanes)
        where = arithmetic.compare(f, "lt", steps, splat(rest, lanes))
    if mask is None:
        return where
    lane = splat(_lane(f, mask, number), lanes)
    return lane if where is None else arithmetic.binary(f, "and", where, lane)


def _lane(f: FunctionText, mask: Value, number: int) -> Value:
    if mask.uniform is not None:
        return mask.uniform
    vector = f"{register_type(BOOL, mask.lanes)} {f.vector(mask, mask.lanes)}"
    return register(BOOL, 1, f.emit(f"extractelement {vector}, i32 {number}"))


def _transposed(f: FunctionText, source: Memory, rows: Sequence[str]) -> list[str]:
    """The transpose of a square: blocks off the diagonal change places, of 1, then 2, then 4 elements a side, ..."""
    lanes, found = len(rows), list(rows)
    kind = memory_type(source.dtype, lanes)
    side = 1
    while side < lanes:
        upper = [k if not k & side else lanes + k - side for k in range(lanes)]
        lower = [k + side if not k & side else lanes + k for k in range(lanes)]
        for k in range(lanes):
            if not k & side:
                a, b = found[k], found[k + side]
                found[k] = f.shuffle(kind, a, b, upper)
                found[k + side] = f.shuffle(kind, a, b, lower)
        side *= 2
    return found
