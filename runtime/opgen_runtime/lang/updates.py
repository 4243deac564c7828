"""Updates: `for u in ndindex(s): if c: t[idx] += e`, recorded as the loops, guards and puts of a `te.Update`.

Emitted code runs `for u in loop(source):`, `with guard(condition):` and `t.put(...)`; each records into the
frame of statements that is open.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .. import arith
from ..arith.expr import Expr
from ..errors import LanguageError
from ..te.tensor import Guard, IterVar, Loop, Put, Tensor, Update, tensors_read
from ..te.widen import widen_half
from .ranges import NdIndex, Range, each
from .scope import bound, guarded
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

    def loop(self, source: Value, name: str = "u") -> Iterator[Value]:
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
        if len(self.frames) == 1:
            raise LanguageError(f"{target.name} can be updated only inside a `for`", "update")
        indices = checked_indices(target.name, target.shape, key)
        target.updated = True
        self.frames[-1].append(_Put(target, indices, PUT_OPERATIONS[op], value))

    def apply(self, target: Defined, base: Tensor) -> Tensor:
        """The tensor after the updates of `target`, in order."""
        body = _for_target(self.frames[0], target, base)
        reads = tuple(dict.fromkeys(t for e in _expressions(body) for t in tensors_read(e)))
        if base in reads:
            raise LanguageError(
                f"inside its update only the updated entry of {target.name} itself may be read", "update"
            )
        return Tensor(target.name, base.shape, base.dtype, Update(base, body, reads))


def _for_target(
    statements: list[_Statement], target: Defined, base: Tensor
) -> tuple[Loop | Guard | Put, ...]:
    made: list[Loop | Guard | Put] = []
    for statement in statements:
        if isinstance(statement, _Put):
            if statement.target is target:
                value = as_expr(statement.value, base.dtype)
                if value.dtype != base.dtype:
                    from_index = value.dtype in ("index", "int64") and base.dtype.kind == "i"
                    if not from_index:
                        raise LanguageError(
                            f"{target.name} holds {base.dtype}, but the update stores {value.dtype}; use cast",
                            "dtype",
                        )
                    value = arith.cast(value, base.dtype)
                made.append(Put(statement.indices, statement.op, widen_half(value, base.dtype)))
        else:
            body = _for_target(statement.body, target, base)
            if body and isinstance(statement, _Loop):
                made.append(Loop(statement.axis, body))
            elif body and isinstance(statement, _Guard):
                made.append(Guard(statement.condition, body))
    return tuple(made)


def _expressions(statements: tuple[Loop | Guard | Put, ...]) -> Iterator[Expr]:
    for statement in statements:
        if isinstance(statement, Put):
            yield from statement.indices
            yield statement.value
        elif isinstance(statement, Guard):
            yield statement.condition
            yield from _expressions(statement.body)
        else:
            if isinstance(statement.axis.extent, Expr):
                yield statement.axis.extent
            yield from _expressions(statement.body)
