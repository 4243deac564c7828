"""Loops: their tests, their variables, and those whose iterations are taken several at once
(`in_register_transpose.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from ...base.arith import post_order
from ...base.vocabulary import INDEX
from ...lower.tir.nodes.stmt import For, If, Load, Stmt, Store
from . import arithmetic, in_register_transpose, memory
from .closure import Body
from .hints import loop_metadata
from .in_register_transpose import Part, TransposeLoop
from .text import Value, constant, register


def loop(body: Body, stmt: For, minimum: Value, end: Value, guarded: bool) -> None:
    """A loop with its test at the bottom, entered through a test if it may be empty."""
    found = in_register_transpose.transpose_loop(stmt)
    if found is None:
        _one_by_one(body, stmt, minimum, end, guarded)
    else:
        _in_squares(body, stmt, found, minimum, end, guarded)


def _one_by_one(body: Body, stmt: For, minimum: Value, end: Value, guarded: bool) -> None:
    def iteration(exit_label: str) -> None:
        body.depth += 1
        body.emit(_while(body, stmt, exit_label))
        body.depth -= 1

    _loop(body, stmt, minimum, end, guarded, 1, iteration)


def _in_squares(
    body: Body, stmt: For, found: TransposeLoop, minimum: Value, end: Value, guarded: bool
) -> None:
    """As many iterations at once as vectors have lanes; those that are left under masks, or one by one."""
    f, lanes = body.f, found.lanes
    accesses: tuple[Store | Load, ...] = (found.store, *found.loads)
    has_masks = found.alone and all(memory.has_masks(f, body.buffer(each.buffer)) for each in accesses)
    masked = any(each.mask is not None for each in accesses)
    if masked and not has_masks:
        _one_by_one(body, stmt, minimum, end, guarded)
        return
    for let in found.lets:
        body.let(let)
    if not guarded:
        _loop(body, stmt, minimum, end, False, lanes, lambda _: _square(body, stmt, found, None))
        return
    count = arithmetic.binary(f, "sub", end, minimum)
    whole = arithmetic.binary(
        f, "sub", count, arithmetic.binary(f, "floormod", count, constant(INDEX, lanes))
    )
    middle = arithmetic.binary(f, "add", minimum, arithmetic.binary(f, "max", whole, constant(INDEX, 0)))
    _loop(body, stmt, minimum, middle, True, lanes, lambda _: _square(body, stmt, found, None))
    if not has_masks:
        _one_by_one(body, stmt, middle, end, guarded=True)
        return
    some, done = f.label("some"), f.label("none")
    f.branch_if(f.vector(arithmetic.compare(f, "lt", middle, end), 1), some, done)
    f.start(some)
    body.define_variable(stmt.var, middle)
    _square(body, stmt, found, arithmetic.binary(f, "sub", end, middle))
    f.branch(done)
    f.start(done)


def _square(body: Body, stmt: For, found: TransposeLoop, rest: Value | None) -> None:
    """As many iterations as there are lanes, or the `rest`."""
    f, first = body.f, body.variable(stmt.var)
    rows = []
    for node in found.loads:
        body.expressions.forget()
        base, stride, mask = in_register_transpose.places(body.expressions, node)
        rows.append(
            in_register_transpose.load(
                f, body.buffer(node.buffer), base, stride, found.lanes, Part(rest, mask)
            )
        )
    for k in range(found.lanes):
        body.define_variable(stmt.var, arithmetic.binary(f, "add", first, constant(INDEX, k)))
        known = zip(found.loads, (row[k] for row in rows), strict=True)
        body.store(found.store, known, Part(rest).iteration(f, k))


def _loop(
    body: Body,
    stmt: For,
    minimum: Value,
    end: Value,
    guarded: bool,
    step: int,
    iteration: Callable[[str], None],
) -> None:
    """`step` iterations at once; `iteration` is given the label at which the loop is left."""
    f = body.f
    lower, upper = f.vector(minimum, 1), f.vector(end, 1)
    head, exit_label = f.label("loop"), f.label("endloop")
    entry = f.block
    if guarded:
        is_some = f.emit(f"icmp slt i64 {lower}, {upper}")
        f.branch_if(is_some, head, exit_label)
    else:
        f.branch(head)
    f.start(head)
    recurrence = f.recurrence("i64", lower, entry)
    variable = recurrence.name
    nonnegative = minimum.nonnegative
    body.define_variable(stmt.var, register(INDEX, 1, variable, clean=True, nonnegative=nonnegative))
    iteration(exit_label)
    following = f.emit(f"add nsw i64 {variable}, {step}")
    recurrence.again(following, f.block)
    again = f.emit(f"icmp slt i64 {following}, {upper}")
    f.branch_if(again, head, exit_label, loop_metadata(body.module, stmt.body))
    f.start(exit_label)


def _while(body: Body, stmt: For, exit_label: str) -> Stmt:
    """The body; of a loop over `if c: ...` the loop is left where `c` fails, which no iteration changes then."""
    inner, f = stmt.body, body.f
    if not isinstance(inner, If) or inner.otherwise is not None or stmt.var in post_order(inner.condition):
        return inner
    condition, inside = body.evaluate(inner.condition), f.label("more")
    f.branch_if(f.vector(condition, 1), inside, exit_label)
    f.start(inside)
    return inner.then
