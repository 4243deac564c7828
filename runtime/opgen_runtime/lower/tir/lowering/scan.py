"""Scans: rows one after the other, and what follows them row by row (schedule/stages/rows.py says what that is).

Where positions depend on each other, every step computes a row of each member in the loops of its stage.  Where they
are independent, each position (or block of positions) runs through all steps by itself and is shared among threads;
rows that nothing outside needs then live in registers, or in the first-level cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ....base.arith import (
    Const,
    Expr,
    Var,
    cast,
    const,
    floordiv,
    floormod,
    ge,
    hinted,
    lt,
    minimum,
    post_order,
)
from ....base.vocabulary import BOOL, INDEX
from ....compute.te.tensor import IterVar, Read, Tensor
from ...schedule import ForKind, Stage
from ...schedule.stages.rows import constant, others
from ..nodes.nest import ZERO, as_index, guarded
from ..nodes.stmt import Allocate, Buffer, For, Load, Stmt, Store
from ..nodes.visit import block
from .early_exit import Going, going, steps
from .positions import by_positions
from .values import Place, ValueLowering

Lower = Callable[[Stage], Stmt]
Inner = Callable[[Stmt], Stmt]

_INTERLEAVED_ROWS: Final = 4  # independent chains of additions in flight
_INTERLEAVED_VECTORS: Final = 4
_BLOCK_COLUMNS: Final = 512  # of a block
_VECTOR_BYTES: Final = 64
_MAX_MOVED_ROWS: Final = 4  # rows that move from one place to the next in each step


def window_place(stage: Stage, tensor: Tensor) -> Place:
    """Where the rows of a tensor lie of which as many are kept as its scan's window says: row s at s % window."""
    assert stage.follows is not None
    line, window = stage.follows.lines[tensor], stage.follows.windows[tensor]

    def place(whole: tuple[Expr, ...]) -> tuple[Expr, ...]:
        slot = floormod(line.step(whole[line.dim]), window) if window > 1 else ZERO
        return (*whole[: line.dim], slot, *whole[line.dim + 1 :])

    return place


def lower_scan(stage: Stage, values: ValueLowering, lower: Lower) -> Stmt:
    """A scan with its followers; `lower` makes the loops of a member for one step."""
    rows = stage.rows
    assert rows is not None
    if rows.separable:
        return _Separable(stage, values).lower()
    parts = [guarded(_guards(member), lower(member)) for member in rows.members]
    found = going(rows)
    if found is None or not found.is_for_all(rows):
        return by_positions(rows, parts) or steps(rows, block(*parts))
    flag = Buffer("going", (1,), BOOL, "local")
    line = found.stage.line
    assert line is not None
    env = {found.stage.axes[line.dim].var: line.index(rows.step)}
    prelude, value = values.lower(found.after(rows.step), env)
    again = prelude.around(Store(flag, (ZERO,), value))
    return steps(rows, block(*parts, again), flag, Store(flag, (ZERO,), const(True, BOOL)))


def _guards(member: Stage) -> list[Expr]:
    """Whether a step computes a row of a member: one whose axis is shorter than the scan rests in some steps."""
    assert member.follows is not None
    line = member.line
    assert line is not None
    extent = member.axes[line.dim].extent
    if extent is member.follows.extent or extent == member.follows.extent:
        return []
    row = line.index(member.follows.step)
    return [ge(row, 0), lt(row, extent)]


class _Separable:
    """Each position of the other dims on its own: all of them are independent."""

    def __init__(self, stage: Stage, values: ValueLowering) -> None:
        assert stage.rows is not None
        self.rows, self.values = stage.rows, values
        first = self.rows.members[0]
        line = self.rows.lines[first.tensor]
        self.before = list(first.axes[: line.dim])
        self.after = list(first.axes[line.dim + 1 :])
        self.kept = [m.tensor for m in self.rows.members if m.tensor in self.rows.local]
        self.going = going(self.rows)

    def lower(self) -> Stmt:
        if self.after:
            return self._columns()
        before = self.before
        if before and hinted(as_index(before[-1].extent)) >= _INTERLEAVED_ROWS:
            return self._rows(before[-1].extent)
        position = [axis.var for axis in before]
        return _nest(before, self._steps(position, within=const(True, BOOL)), shared=True)

    # ------------------------------------------------------------------ the steps of one position, or of a block

    def _steps(
        self,
        position: Sequence[Expr],
        block_shape: tuple[int, ...] = (),
        at: tuple[Expr, ...] = (),
        inner: Inner | None = None,
        within: Expr | None = None,
        each: Inner = lambda made: made,
    ) -> Stmt:
        """All steps at one position, then what closes them.

        `inner` surrounds statements with loops over a block of positions of `block_shape`, `at` being the place in it.
        `within`: whether a place of the block is a position at all, `each` the loop over all of its places; without it
        all steps are done.
        """
        around = inner or (lambda made: made)
        moving = all(self.rows.windows[t] <= _MAX_MOVED_ROWS for t in self.kept)
        buffers = []
        for tensor in self.kept:
            buffer = Buffer(tensor.name, (self.rows.windows[tensor], *block_shape), tensor.dtype, "local")
            self.values.buffers[tensor] = buffer
            buffers.append(buffer)

        def run(stage: Stage, step: Expr) -> Stmt:
            for tensor in self.kept:
                self.values.places[tensor] = self._place(tensor, step if moving else None, at)
            return around(self._element(stage, step, position))

        parts = [run(member, self.rows.step) for member in self.rows.members]
        moves = [move for buffer in buffers for move in _moves(buffer, at)] if moving else []
        if moves:
            parts.insert(0, around(block(*moves)))
        if self.going is None or within is None:
            body = steps(self.rows, block(*parts))
        else:
            flag, place = Buffer("going", block_shape or (1,), BOOL, "local"), at or (ZERO,)
            parts.append(around(self._again(self.going, flag, place, position)))
            body = steps(self.rows, block(*parts), flag, each(Store(flag, place, within)))
        last = as_index(self.rows.extent) - 1
        starts = [start for buffer in buffers for start in _starts(buffer, at)] if moving else []
        body = block(*([around(block(*starts))] if starts else []), body)
        body = block(body, *(run(stage, last) for stage in self.rows.closing))
        for buffer in reversed(buffers):
            body = Allocate(buffer, body)
        return body

    def _place(self, tensor: Tensor, step: Expr | None, at: tuple[Expr, ...]) -> Place:
        """The place of a kept row: by its age in step `step` where rows move, else by its number."""
        line, window = self.rows.lines[tensor], self.rows.windows[tensor]

        def place(whole: tuple[Expr, ...]) -> tuple[Expr, ...]:
            made = line.step(whole[line.dim])
            if step is None:
                return (floormod(made, window) if window > 1 else ZERO, *at)
            age = constant(step - made)
            assert age is not None
            return (const(min(max(age, 0), window - 1), INDEX), *at)

        return place

    def _again(self, going: Going, flag: Buffer, place: tuple[Expr, ...], position: Sequence[Expr]) -> Stmt:
        """Note whether there is more to do at a position after a step."""
        line = going.stage.line
        assert line is not None
        env: dict[Var, Expr] = {
            axis.var: at for axis, at in zip(others(going.stage, self.rows.lines), position, strict=True)
        }
        env[going.stage.axes[line.dim].var] = line.index(self.rows.step)
        prelude, value = self.values.lower(going.after(self.rows.step), env)
        return prelude.around(Store(flag, place, value))

    def _element(self, stage: Stage, step: Expr, position: Sequence[Expr]) -> Stmt:
        """One element of a member or closing stage."""
        assert stage.body is not None
        line = stage.line
        env: dict[Var, Expr] = {
            axis.var: at for axis, at in zip(others(stage, self.rows.lines), position, strict=True)
        }
        if line is not None:
            env[stage.axes[line.dim].var] = line.index(step)
        buffer = self.values.buffers[stage.tensor]
        prelude, value = self.values.lower(stage.body, env)
        indices = self.values.position(stage.tensor, [env[axis.var] for axis in stage.axes])
        made = prelude.around(Store(buffer, indices, cast(value, buffer.dtype)))
        return made if line is None else guarded(_guards(stage), made)

    # ------------------------------------------------------------------ positions

    def _rows(self, extent: int | Expr) -> Stmt:
        """A scan along the last dim: a few rows at a time, since each one waits for its own last element."""
        outer = [axis.var for axis in self.before[:-1]]
        rows = as_index(extent)
        whole, left = floordiv(rows, _INTERLEAVED_ROWS), floormod(rows, _INTERLEAVED_ROWS)
        group, member, rest = Var(INDEX, "group"), Var(INDEX, "member"), Var(INDEX, "rest")
        together = self._steps([*outer, group * _INTERLEAVED_ROWS + member])
        together = For(member, ZERO, const(_INTERLEAVED_ROWS, INDEX), ForKind.VIRTUAL, together)
        kind = ForKind.SERIAL if outer else ForKind.PARALLEL
        body: Stmt = For(group, ZERO, whole, kind, together)
        if not isinstance(left, Const) or left.value:
            alone = self._steps([*outer, rest + whole * _INTERLEAVED_ROWS])
            body = block(body, For(rest, ZERO, left, ForKind.SERIAL, alone))
        return _nest(self.before[:-1], body, shared=True)

    def _columns(self) -> Stmt:
        """A scan along another dim: vectors along the last dim, or all after it, in blocks that stay cached."""
        before, after = self.before, self.after
        flat = self._flat_extent()
        last = as_index(after[-1].extent if flat is None else flat)
        itemsize = max(member.tensor.dtype.itemsize for member in self.rows.members)
        lanes = max(1, _VECTOR_BYTES // itemsize)
        likely = hinted(last)
        if likely < lanes:
            alone = [axis.var for axis in (*before, *after)]
            made = self._steps(alone, within=const(True, BOOL))
            return _nest([*before, *after], made, shared=True)
        size = int(last.value) if isinstance(last, Const) else None
        blocks = floordiv(last + (_BLOCK_COLUMNS - 1), _BLOCK_COLUMNS)
        width = _BLOCK_COLUMNS if size is None else min(_BLOCK_COLUMNS, -(-size // lanes) * lanes)
        part, vector, lane = Var(INDEX, "part"), Var(INDEX, "vector"), Var(INDEX, "lane")
        column = vector * lanes + lane
        outer = before if flat is not None else [*before, *after[:-1]]
        at = part * _BLOCK_COLUMNS + column if size is None or size > _BLOCK_COLUMNS else column
        position: list[Expr] = [axis.var for axis in outer]
        position += [at] if flat is None else _unravelled(at, after)
        guards = [lt(at, last)] if size is None or size % lanes or size % _BLOCK_COLUMNS else []
        vectors: Expr = const(width // lanes, INDEX)
        if size is None:
            vectors = minimum(floordiv(last - part * _BLOCK_COLUMNS + (lanes - 1), lanes), vectors)

        def each_lane(made: Stmt) -> Stmt:
            return For(lane, ZERO, const(lanes, INDEX), ForKind.VECTORIZED, made)

        def lanes_of(made: Stmt) -> Stmt:
            return each_lane(guarded(guards, made))

        def columns_of(made: Stmt) -> Stmt:
            return For(vector, ZERO, vectors, ForKind.SERIAL, lanes_of(made))

        if self._stays_in_place():
            within = guards[0] if guards else const(True, BOOL)
            body = self._steps(position, (lanes,), (lane,), lanes_of, within, each_lane)
            body = For(vector, ZERO, vectors, ForKind.SERIAL, body)
        else:
            body = self._steps(position, (width,), (column,), columns_of)
        only = all(axis.extent == 1 for axis in outer)
        body = For(part, ZERO, blocks, ForKind.PARALLEL if only else ForKind.SERIAL, body)
        return _nest(outer, body, shared=not only)

    def _flat_extent(self) -> int | None:
        """How many positions lie side by side along all dims after the scan's, wherever they are read and written.

        None where they do not, or are those of one dim.
        """
        extents = [axis.extent for axis in self.after if isinstance(axis.extent, int)]
        if not 2 <= len(self.after) == len(extents) or self.rows.closing:
            return None
        for member in self.rows.members:
            line = member.line
            assert member.body is not None
            assert line is not None
            own = [axis.var for axis in member.axes[line.dim + 1 :]]
            if [axis.extent for axis in member.axes[line.dim + 1 :]] != extents:
                return None
            for node in post_order(member.body):
                if not isinstance(node, Read):
                    continue
                used = {each for index in node.indices for each in post_order(index)}
                whole = (
                    list(node.indices[-len(own) :]) == own and list(node.tensor.shape[-len(own) :]) == extents
                )
                if not whole and not used.isdisjoint(own):
                    return None
        return math.prod(extents)

    def _stays_in_place(self) -> bool:
        """Whether no step walks through memory: what it reads and writes lies in registers, or is that of any step."""
        for member in self.rows.members:
            line = member.line
            assert member.body is not None
            assert line is not None
            if member.tensor not in self.rows.local:
                return False
            axis = member.axes[line.dim].var
            for read in post_order(member.body):
                if isinstance(read, Read) and read.tensor not in self.rows.local:
                    used = {node for index in read.indices for node in post_order(index)}
                    if axis in used and member.axes[-1].var in used:
                        return False
        return True


def _unravelled(at: Expr, axes: Sequence[IterVar]) -> list[Expr]:
    """The position along each of the axes."""
    found: list[Expr] = []
    for axis in reversed(axes[1:]):
        found.insert(0, floormod(at, axis.extent))
        at = floordiv(at, axis.extent)
    return [at, *found]


def _moves(buffer: Buffer, at: tuple[Expr, ...]) -> list[Stmt]:
    """At the start of a step, each row one place further: its place is its age."""
    window = buffer.shape[0]
    assert isinstance(window, int)
    return [
        Store(buffer, (const(n, INDEX), *at), Load(buffer.dtype, buffer, (const(n - 1, INDEX), *at)))
        for n in range(window - 1, 0, -1)
    ]


def _starts(buffer: Buffer, at: tuple[Expr, ...]) -> list[Stmt]:
    """Something for rows to hold that move before they were computed."""
    window = buffer.shape[0]
    assert isinstance(window, int)
    zero = const(False if buffer.dtype.is_bool else 0, buffer.dtype)
    return [Store(buffer, (const(n, INDEX), *at), zero) for n in range(window - 1)]


def _nest(axes: Sequence[IterVar], body: Stmt, shared: bool) -> Stmt:
    """Loops over the axes, the outermost shared among threads."""
    for position, axis in reversed(list(enumerate(axes))):
        kind = ForKind.PARALLEL if shared and position == 0 else ForKind.SERIAL
        body = For(axis.var, ZERO, as_index(axis.extent), kind, body)
    return body
