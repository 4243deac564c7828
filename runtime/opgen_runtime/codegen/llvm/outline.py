"""Parts of a kernel as functions of their own: bodies of parallel loops, outlined statements, kinds of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...base.arith.expr import Const, Expr
from ...base.vocabulary import INDEX, INT64
from ...lower.tir.nodes.stmt import Buffer, For, Kind, Repetition, Stmt
from . import arithmetic
from .closure import Body
from .extents import entry_size
from .text import Value, register

_UNKNOWN_COST: Final = 256


def parallel(outer: Body, stmt: For, minimum: Value, extent: Value) -> None:
    """Outline the body as a function of a range of iterations and hand it to the pool."""
    f = outer.f
    body = outer.inner("parallel", is_alone=False)
    begin = register(INDEX, 1, "%begin", clean=True, nonnegative=True)
    end = register(INDEX, 1, "%end", clean=True, nonnegative=True)
    if minimum.literal != 0:
        offset = minimum
        if minimum.literal is None:
            text = body.capture("i64", f.vector(minimum, 1))
            offset = register(INDEX, 1, text, clean=minimum.clean, nonnegative=minimum.nonnegative)
        begin = arithmetic.binary(body.f, "add", begin, offset)
        end = arithmetic.binary(body.f, "add", end, offset)
    body.loop(stmt, begin, end, guarded=True)
    body.finish("void", "ptr %closure, i64 %begin, i64 %end", is_kernel=False)
    closure = _closure(outer, body)
    grain = _grain(outer, stmt)
    outer.module.declare("opgen_parallel_for", "void", "ptr, ptr, i64, i64")
    count = f.vector(extent, 1)
    f.do(f"call void @opgen_parallel_for(ptr @{body.name}, ptr {closure}, i64 {count}, i64 {grain})")
    _check(outer, closure)


def _grain(outer: Body, stmt: For) -> str:
    """The operand of how many iterations are worth a thread, computed from the dims where they are symbolic."""
    cost, threshold = stmt.work, outer.module.target.parallel_threshold
    if isinstance(cost, Expr) and not isinstance(cost, Const):
        f = outer.f
        found = entry_size(f, cost, lambda var: f.vector(outer.variable(var), 1))
        if found is not None:
            f.module.declare("llvm.smax.i64", "i64", "i64, i64")
            some = f.emit(f"call i64 @llvm.smax.i64(i64 {found}, i64 1)")
            return f.emit(f"sdiv i64 {f.emit(f'add i64 {some}, {threshold - 1}')}, {some}")
    return str(-(-threshold // max(1, int(cost.value) if isinstance(cost, Const) else _UNKNOWN_COST)))


def function(outer: Body, stmt: Stmt) -> None:
    """A function for a statement, and its call."""
    body = outer.inner("loop", is_alone=outer.is_alone)
    body.emit(stmt)
    body.finish("void", "ptr %closure", is_kernel=False)
    closure = _closure(outer, body)
    outer.f.do(f"call void @{body.name}(ptr {closure})")
    if body.can_fail:
        _check(outer, closure)


def repetition(outer: Body, repeated: Repetition) -> None:
    """A function for each kind of statement, and a loop over the rows that calls the one of each."""
    f = outer.f
    table, width = _table(outer, repeated)
    bodies = [
        _of_kind(outer, kind, [values for each, values in repeated.rows if each == k])
        for k, kind in enumerate(repeated.kinds)
    ]
    closures = [_closure(outer, body) for body in bodies]
    head, following = f.label("row"), f.label("next")
    entry = f.block
    f.branch(head)
    f.start(head)
    rows = f.recurrence("i64", "0", entry)
    number = rows.name
    row = f.emit(f"getelementptr inbounds [{width} x i64], ptr {table}, i64 {number}")
    labels = [f.label("kind") for _ in bodies]
    if len(bodies) > 1:
        kind = f.emit(f"load i64, ptr {row}, align 8, !invariant.load !{{}}")
        cases = " ".join(f"i64 {k}, label %{label}" for k, label in enumerate(labels[1:], 1))
        f.do(f"switch i64 {kind}, label %{labels[0]} [ {cases} ]")
    else:
        f.branch(labels[0])
    for body, closure, label in zip(bodies, closures, labels, strict=True):
        f.start(label)
        f.do(f"call void @{body.name}(ptr {closure}, ptr {row})")
        f.branch(following)
    f.start(following)
    count = f.emit(f"add nsw i64 {number}, 1")
    rows.again(count, following)
    done = f.label("endrows")
    f.branch_if(f.emit(f"icmp slt i64 {count}, {len(repeated.rows)}"), head, done)
    f.start(done)
    for body, closure in zip(bodies, closures, strict=True):
        if body.can_fail:
            _check(outer, closure)


def _table(outer: Body, repeated: Repetition) -> tuple[str, int]:
    """The rows in memory, and how many numbers each has: its kind, then its values; an operand is its position."""
    width = 1 + max(len(values) for _, values in repeated.rows)
    cells: list[int] = []
    for kind, values in repeated.rows:
        cells.append(kind)
        cells += [outer.operand_position(v) if isinstance(v, Buffer) else v for v in values]
        cells += [0] * (width - 1 - len(values))
    return outer.module.table(INT64, "i64", cells), width


def _of_kind(outer: Body, kind: Kind, rows: Sequence[tuple[int | Buffer, ...]]) -> Body:
    """`rows`: the values of its columns, of which the first buffer tells how all that stand there are accessed."""
    body = outer.inner("kind", is_alone=outer.is_alone)
    f = body.f
    for k, (column, values) in enumerate(zip(kind.columns, zip(*rows, strict=True), strict=True), 1):
        cell = f.emit_entry(f"getelementptr i8, ptr %row, i64 {8 * k}")
        text = f.emit_entry(f"load i64, ptr {cell}, align 8, !invariant.load !{{}}")
        if isinstance(column, Buffer):
            slot = f.emit_entry(f"getelementptr ptr, ptr {body.data()}, i64 {text}")
            pointer = f.emit_entry(f"load ptr, ptr {slot}, align 8, !invariant.load !{{}}")
            body.define_buffer(column, pointer, like=values[0])
        else:
            nonnegative = min(values) >= 0
            value = register(INDEX, 1, text, clean=True, nonnegative=nonnegative)
            body.define_variable(column, value)
    body.emit(kind.statement)
    body.finish("void", "ptr %closure, ptr %row", is_kernel=False)
    return body


def _closure(outer: Body, body: Body) -> str:
    """The memory that holds what a finished function takes from the one around it, after its status."""
    assert body.closure is not None
    f = outer.f
    captured = body.closure.values
    closure = f.emit_entry(f"alloca [{1 + len(captured)} x i64], align 8")
    f.do(f"store i64 0, ptr {closure}, align 8")
    for slot, (kind, operand) in enumerate(captured, 1):
        address = f.emit(f"getelementptr i8, ptr {closure}, i64 {8 * slot}")
        f.do(f"store {kind} {operand}, ptr {address}, align 8")
    return closure


def _check(outer: Body, closure: str) -> None:
    status = outer.f.emit(f"load i64, ptr {closure}, align 8")
    outer.fail_if(outer.f.emit(f"icmp ne i64 {status}, 0"))
