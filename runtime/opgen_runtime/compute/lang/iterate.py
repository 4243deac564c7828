"""`while c[i] and at_most(n): x[i] = ...`: tensors whose elements are computed again while a condition holds.

The steps are rows of a recurrence: row 0 is what the tensor was, row t what step t makes of row t - 1, or row t - 1
itself where the condition has ended.  The name means the last row from then on.  All tensors of a loop are one
recurrence, which kernels leave where the condition has ended everywhere (`lower/tir/lowering/early_exit.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...base.arith.expr import Shape
from ...base.errors import LanguageError
from ...base.vocabulary import BOOL, DType, dataclass
from .build import Builder, current_builder
from .conditions import select
from .scope import stepping
from .tensors import REST, Defined, applied
from .weak import Value, describe

Elements = Callable[..., Callable[..., Value]]
"""Of rows and local values, a function of indices."""

Piece = tuple[int, Elements]
"""One line of the body: the position of what it gives among rows and local values, and its value."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of the steps of a tensor, read like the tensor."""

    steps: Defined
    step: Value

    @property
    def shape(self) -> Shape:
        return self.steps.shape[1:]

    @property
    def ndim(self) -> int:
        return self.steps.ndim - 1

    @property
    def dtype(self) -> DType | None:
        return self.steps.dtype

    def __getitem__(self, key: Value) -> Value:
        entries = key if isinstance(key, tuple) else (key,)
        if len(entries) != self.ndim:
            text = f"{self.steps.name} has {self.ndim} dims, but is read with {len(entries)} indices"
            raise LanguageError(text, "rank")
        return self.steps[(self.step, *entries)]


def iterate(limit: Value, tensors: Sequence[Defined], condition: Elements | None, *body: Piece) -> None:
    """At most `limit` times, while `condition` holds, the lines of `body` in order.

    `condition` is a function of the rows; of an inner function without parameters it is one for all elements.  The
    lines see the rows and the local values, those of the lines above as they are by then.
    """
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise LanguageError(f"`at_most` takes a static number of steps, found {describe(limit)}", "value")
    builder = current_builder()
    starts = [builder.tensor(f"{each.name}_start", each.shape, _declared(each)) for each in tensors]
    steps = [builder.tensor(each.name, (limit + 1, *each.shape), _declared(each)) for each in tensors]
    builder.together.append(tuple(steps))
    loop = _Loop(tensors, steps)
    holds = _condition(builder, condition, loop)
    for position, (tensor, start, rows) in enumerate(zip(tensors, starts, steps, strict=True)):
        start.definitions, tensor.definitions = tensor.definitions, []
        _define(rows, start, holds, loop, body, position)
        _take_last(tensor, rows, limit)


def _declared(tensor: Defined) -> DType | None:
    return tensor.dtype if tensor.declared else None


@dataclass(frozen=True, slots=True)
class _Loop:
    """The tensors as they are named, and their rows in all steps."""

    tensors: Sequence[Defined]
    steps: Sequence[Defined]

    def rows(self, step: Value) -> list[Value]:
        return [_Row(each, step) for each in self.steps]

    def within(self, rows: Sequence[Value]) -> stepping:
        """Where the names mean `rows`, in the `def`s that are called, too."""
        return stepping(dict(zip(self.tensors, rows, strict=True)))


def _condition(
    builder: Builder, condition: Elements | None, loop: _Loop
) -> Callable[[Value, tuple[Value, ...]], Value]:
    """Whether a step is done, by its number and an element's indices."""
    if condition is None:
        return lambda step, indices: True

    def holds(step: Value, indices: tuple[Value, ...]) -> Value:
        rows = loop.rows(step - 1)
        with loop.within(rows):
            return applied(condition(*rows), list(indices))()

    if loop.steps[0].ndim == 1 or not _is_for_all(condition(*loop.steps)):
        return holds
    running = builder.tensor("running", loop.steps[0].shape[:1], BOOL)
    running.define(lambda: True, at=(0,))
    running.define(lambda step: holds(step, ()))
    return lambda step, indices: running[step]


def _is_for_all(function: Callable[..., Value]) -> bool:
    code = function.__code__
    return not (code.co_argcount or code.co_kwonlyargcount or code.co_flags & 0x04)


def _define(
    rows: Defined,
    start: Defined,
    holds: Callable[[Value, tuple[Value, ...]], Value],
    loop: _Loop,
    body: Sequence[Piece],
    position: int,
) -> None:
    def after(step: Value, *indices: Value) -> Value:
        def made() -> Value:
            return _value(loop, step, indices, body, position)

        return select(holds(step, indices), made, lambda: rows[(step - 1, *indices)])

    rows.define(lambda *i: start[i], at=(0, REST))
    rows.define(after)


def _value(
    loop: _Loop, step: Value, indices: tuple[Value, ...], body: Sequence[Piece], position: int
) -> Value:
    """What the lines make of one element of the tensor at `position`."""
    steps = loop.steps
    known: list[Value] = [*loop.rows(step - 1), *[None] * len(body)]
    count = len(steps) + sum(each >= len(steps) for each, _ in body)
    for at, elements in body:
        if at < len(steps) and at != position:
            known[at] = _Row(steps[at], step)
            continue
        with loop.within(known[: len(steps)]):
            value = applied(elements(*known[:count]), list(indices))()
        if at == position:
            return value
        known[at] = value
    raise AssertionError(position)


def _take_last(tensor: Defined, rows: Defined, limit: int) -> None:
    tensor.define(lambda *i: rows[(limit, *i)])
