"""Early exit of scans: once a condition has failed, every row is the one before.

    h[t, i] = start[i] if t == 0 else (f(h[t - 1, i]) if c(h[t - 1, i]) else h[t - 1, i])

Where `c` fails in a step, no later step changes anything, and none has to be done.  That holds for a whole scan if all
of its states have this form with one condition, and what else runs in its steps follows from their rows alone.
"""

from __future__ import annotations

from ....base.arith import (
    Compare,
    Const,
    Expr,
    Select,
    Var,
    const,
    eq,
    post_order,
    select,
    structural_equal,
    sub,
    substitute,
)
from ....base.vocabulary import BOOL, INDEX, dataclass
from ....compute.te.tensor import Read
from ...schedule import ForKind, Stage
from ...schedule.stages.rows import Rows, constant, others
from ..nodes.nest import ZERO, as_index
from ..nodes.stmt import Allocate, Buffer, For, HorizontalReduce, If, Load, Ramp, Stmt
from ..nodes.visit import block


@dataclass(frozen=True, slots=True)
class Going:
    """`condition`, in the axes of `stage`: whether a step (but the first) changes rows."""

    stage: Stage
    condition: Expr

    def is_for_all(self, rows: Rows[Stage]) -> bool:
        """Whether it is one for all positions."""
        own = {axis.var for axis in others(self.stage, rows.lines)}
        return own.isdisjoint(node for node in post_order(self.condition) if isinstance(node, Var))

    def after(self, step: Expr) -> Expr:
        """Whether to go on after a step."""
        return select(eq(step, 0), const(True, BOOL), self.condition)


def going(rows: Rows[Stage]) -> Going | None:
    """The condition under which the steps of a scan go on; None where each of them is needed."""
    held = {stage: found for stage in rows.members if (found := _held(stage)) is not None}
    if not held:
        return None
    first, condition = next(iter(held.items()))
    axes = [axis.var for axis in first.axes]
    for stage in rows.members:
        if rows.windows.get(stage.tensor, 3) > (2 if stage in held else 1):
            return None
        if stage.body is None or not _follows(stage, held.get(stage, stage.body), rows):
            return None
    for stage, own in held.items():
        renamed = dict(zip([axis.var for axis in stage.axes], axes, strict=False))
        if len(stage.axes) != len(axes) or not structural_equal(substitute(own, renamed), condition):
            return None
    return Going(first, condition)


def _held(stage: Stage) -> Expr | None:
    """The condition under which a row of a state is not the one before; None where it has no such form."""
    line, body = stage.line, stage.body
    if line is None or not isinstance(body, Select) or not isinstance(body.otherwise, Select):
        return None
    step, old = stage.axes[line.dim].var, body.otherwise.otherwise
    if not _is_first(body.condition, step) or not isinstance(old, Read) or old.tensor is not stage.tensor:
        return None
    for dim, (index, axis) in enumerate(zip(old.indices, stage.axes, strict=True)):
        if dim == line.dim:
            if constant(sub(line.step(index), line.step(axis.var))) != -1:
                return None
        elif index is not axis.var:
            return None
    return body.otherwise.condition


def _is_first(e: Expr, step: Var) -> bool:
    """`step == 0`"""
    return isinstance(e, Compare) and e.op == "eq" and _is_with_zero(e, step)


def _is_with_zero(e: Compare, step: Var) -> bool:
    return any(
        one is step and isinstance(other, Const) and other.value == 0
        for one, other in ((e.a, e.b), (e.b, e.a))
    )


def _follows(stage: Stage, e: Expr, rows: Rows[Stage]) -> bool:
    """Whether an expression is the same in all steps but the first in which the rows are the same that it reads."""
    if stage.line is None:
        return False
    step = stage.axes[stage.line.dim].var
    stack, seen = [e], set()
    while stack:
        node = stack.pop()
        if node is step:
            return False
        if id(node) in seen or (isinstance(node, Compare) and _is_with_zero(node, step)):
            continue
        seen.add(id(node))
        line = rows.lines.get(node.tensor) if isinstance(node, Read) else None
        stack += [each for dim, each in enumerate(node.children()) if line is None or dim != line.dim]
    return True


def steps(rows: Rows[Stage], body: Stmt, flag: Buffer | None = None, begin: Stmt | None = None) -> Stmt:
    """All steps of a scan; with a `flag`, which `begin` sets, those before which some element of it holds."""
    extent = as_index(rows.extent)
    if flag is None or begin is None:
        return For(rows.step, ZERO, extent, ForKind.SERIAL, body)
    lanes = flag.shape[0]
    assert isinstance(lanes, int)
    some: Expr = Load(BOOL, flag, (ZERO,))
    if lanes > 1:
        vector = Load(BOOL, flag, (Ramp(INDEX, ZERO, const(1, INDEX), lanes),))
        some = HorizontalReduce(BOOL, "or", vector)
    loop = For(rows.step, ZERO, extent, ForKind.SERIAL, If(some, body))
    return Allocate(flag, block(begin, loop))
