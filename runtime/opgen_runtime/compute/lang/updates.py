"""Updates: `for u in ndindex(s): if c: t[idx] += e`, recorded as the loops, guards and puts of a `te.Update`.

Emitted code runs `for u in loop(source):`, `with guard(condition):` and `t.put(...)`; each records into the
frame of statements that is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from ...base import arith
from ...base.arith.expr import Expr
from ...base.errors import LanguageError
from ...base.vocabulary import INDEX, INT64, dataclass
from ..te.graph import expressions
from ..te.tensor import Guard, IterVar, Loop, Put, Tensor, Update, tensors_read
from .ranges import NdIndex, Range, each
from .scans import redirect
from .scope import bound, current, guarded
from .tensors import Defined, checked_indices
from .weak import Value, as_condition, as_expr

PUT_OPERATIONS = {
    "=": "=", "+=": "add", "*=": "mul", "&=": "and", "|=": "or", "^=": "xor", "max": "max", "min": "min",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Put:
    target: Defined
    indices: tuple[Expr, ...]
    op: str
    value: Value


@dataclass(frozen=True, slots=True)
class _Loop:
    axis: IterVar
    body: list[_Statement]


@dataclass(frozen=True, slots=True)
class _Guard:
    condition: Expr
    body: list[_Statement]


_Statement = _Put | _Loop | _Guard


@dataclass(slots=True)
class Recorder:
    """The statements of a compute function, in order."""

    frames: list[list[_Statement]] = field(default_factory=lambda: [[]])
    depth: int = 0  # how many loops are open, those that unroll included

    @contextmanager
    def outermost(self) -> Iterator[None]:
        """Outside every loop that is open: what is recorded stands before it."""
        frames, depth = self.frames, self.depth
        self.frames, self.depth = frames[:1], 0
        try:
            yield
        finally:
            self.frames, self.depth = frames, depth

    def loop(self, source: Value, name: str) -> Iterator[Value]:
        scope = current()
        before, scope.elements = scope.elements, True
        self.depth += 1
        try:
            yield from self._entries(source, name)
        finally:
            self.depth -= 1
            scope.elements = before

    def _entries(self, source: Value, name: str) -> Iterator[Value]:
        if not isinstance(source, Range | NdIndex):
            yield from each(source)
            return
        axes, value = source.axes((name,))
        self.frames.append([])
        with bound(axes):
            yield value
        body = self.frames.pop()
        for axis in reversed(axes):
            body = [_Loop(axis, body)]
        self.frames[-1].extend(body)

    @contextmanager
    def guard(self, condition: Value) -> Iterator[None]:
        found = as_condition(condition, "if")
        self.frames.append([])
        with guarded(found):
            yield
        body = self.frames.pop()
        if found is True:
            self.frames[-1].extend(body)
        elif found is not False:
            self.frames[-1].append(_Guard(found, body))

    def put(self, target: Defined, key: Value, op: str, value: Value) -> None:
        if not self.depth:
            raise LanguageError(f"{target.name} can be updated only inside a `for`", "update")
        indices = checked_indices(target.name, target.shape, key)
        for expr in (*indices, value):
            if isinstance(expr, Expr) and target.is_read_by(expr):
                raise _reads_itself(target)
        if target.relied_on and not target.updated:
            raise LanguageError(
                f"{target.name} is updated below a place where its definition alone counted (for a proof, or for the "
                f"dtype of its literals); put the update above what reads {target.name}",
                "update",
            )
        target.updated = True
        if target.put_dtype is None and isinstance(value, Expr):
            target.put_dtype = INT64 if value.dtype == INDEX else value.dtype
        self.frames[-1].append(_Put(target, indices, PUT_OPERATIONS[op], value))

    def updates(self, bases: Mapping[Defined, Tensor]) -> dict[Tensor, UpdateOf]:
        """The updates by the tensors before them, in the order of their first statements."""
        targets = dict.fromkeys(_targets(self.frames[0]))
        return {bases[target]: UpdateOf(self, target, bases[target]) for target in targets}


@dataclass(frozen=True, slots=True)
class UpdateOf:
    """All that updates one tensor; `base` is what its definitions give."""

    recorder: Recorder
    target: Defined
    base: Tensor

    def reads(self) -> tuple[Tensor, ...]:
        """What the statements read, as it was recorded."""
        return _read_by(_for_target(self.recorder.frames[0], self.target, self.base, {}))

    def after(self, base: Tensor, made: Mapping[Tensor, Tensor]) -> Tensor:
        """The updated tensor; `base` is the finished one, and `made` turns recorded reads to finished tensors."""
        body = _for_target(self.recorder.frames[0], self.target, base, {**made, self.base: base})
        reads = _read_by(body)
        if base in reads:
            raise _reads_itself(self.target)
        return Tensor(self.target.name, base.shape, base.dtype, Update(base, body, reads))


def _read_by(body: tuple[Loop | Guard | Put, ...]) -> tuple[Tensor, ...]:
    return tuple(dict.fromkeys(t for e in expressions(body) for t in tensors_read(e)))


def _reads_itself(target: Defined) -> LanguageError:
    text = f"inside its update only the updated entry of {target.name} itself may be read"
    return LanguageError(text, "update")


def _targets(statements: list[_Statement]) -> Iterator[Defined]:
    for statement in statements:
        if isinstance(statement, _Put):
            yield statement.target
        else:
            yield from _targets(statement.body)


def _for_target(
    statements: list[_Statement], target: Defined, base: Tensor, built: Mapping[Tensor, Tensor]
) -> tuple[Loop | Guard | Put, ...]:
    made: list[Loop | Guard | Put] = []
    for statement in statements:
        if isinstance(statement, _Put):
            if statement.target is target:
                value = redirect(_stored_value(statement, base), built)
                indices = tuple(redirect(index, built) for index in statement.indices)
                made.append(Put(indices, statement.op, value))
            continue
        body = _for_target(statement.body, target, base, built)
        if body and isinstance(statement, _Loop):
            extent = statement.axis.extent
            axis = statement.axis
            if isinstance(extent, Expr):
                axis = IterVar(axis.var, redirect(extent, built), axis.kind)
            made.append(Loop(axis, body))
        elif body and isinstance(statement, _Guard):
            made.append(Guard(redirect(statement.condition, built), body))
    return tuple(made)


def _stored_value(put: _Put, base: Tensor) -> Expr:
    """The value in the dtype of the updated tensor; indices may be stored to any signed int."""
    value = as_expr(put.value, base.dtype)
    if value.dtype == base.dtype:
        return value
    if value.dtype == INDEX and base.dtype.kind == "i":
        return arith.cast(value, base.dtype)
    raise LanguageError(
        f"{put.target.name} holds {base.dtype}, the update stores {value.dtype}; use cast", "dtype"
    )
