"""Loops: their tests and their variables."""

from __future__ import annotations

from ...base.vocabulary import INDEX
from ...lower.tir.nodes.stmt import For
from .closure import Body
from .hints import loop_metadata
from .text import Value, register


def loop(body: Body, stmt: For, minimum: Value, end: Value, guarded: bool) -> None:
    """A loop with its test at the bottom, entered through a test if it may be empty."""
    f = body.f
    lower, upper = f.vector(minimum, 1), f.vector(end, 1)
    head, exit_label = f.label("loop"), f.label("endloop")
    entry = f.block
    if guarded:
        is_some = f.emit(f"icmp slt i64 {lower}, {upper}")
        f.branch_if(is_some, head, exit_label)
    else:
        f.branch(head)
    known = f.known()
    f.start(head, known)
    recurrence = f.recurrence("i64", lower, entry)
    variable = recurrence.name
    nonnegative = minimum.nonnegative
    body.define_variable(stmt.var, register(INDEX, 1, variable, clean=True, nonnegative=nonnegative))
    if stmt.condition is not None:
        condition, inside = body.evaluate(stmt.condition), f.label("more")
        f.branch_if(f.vector(condition, 1), inside, exit_label)
        f.start(inside, f.known())
    body.emit(stmt.body)
    following = f.emit(f"add nsw i64 {variable}, {stmt.step}")
    recurrence.again(following, f.block)
    again = f.emit(f"icmp slt i64 {following}, {upper}")
    f.branch_if(again, head, exit_label, loop_metadata(body.module, stmt.body))
    f.start(exit_label, known)
