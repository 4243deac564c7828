"""What loops run over: ranges, index tuples, and what unrolls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any as AnyType
from typing import Final

from ...base import arith
from ...base.arith.expr import Expr, Var
from ...base.errors import LanguageError
from ...base.vocabulary import INDEX, dataclass
from ..te.tensor import IterVar
from .scope import current
from .weak import Value, Weak, as_index, describe, is_text

_FAR: Final = 1 << 61  # no dim, and no index into one, is as large
MAX_UNROLLED = 1 << 16  # entries a loop may unroll to


@dataclass(frozen=True, slots=True)
class Range:
    """`start, start + step, ...`, `count` of them.  The numbers are ints, or element integers."""

    start: Value
    count: Value
    step: int = 1

    def axes(self, names: tuple[str, ...]) -> tuple[tuple[IterVar, ...], Value]:
        """A fresh axis, and the loop variable's value on it."""
        count = self.count if isinstance(self.count, int) else as_index(self.count, "a bound of range")
        var = Var(INDEX, names[0])
        value: Expr = var if self.step == 1 else arith.mul(var, self.step)
        if self.start != 0 or isinstance(self.start, Expr):
            value = arith.add(value, self.start)
        return (IterVar(var, count, "reduce"),), value

    def __iter__(self) -> Iterator[int]:
        if not isinstance(self.start, int) or not isinstance(self.count, int):
            raise LanguageError(
                "this range must be static to unroll, but its bounds are element values or symbolic dims",
                "stage",
            )
        if self.count > MAX_UNROLLED:
            raise LanguageError(
                f"a loop of {self.count} steps would be unrolled; the limit is {MAX_UNROLLED}", "too-large"
            )
        return iter(range(self.start, self.start + self.count * self.step, self.step))

    def __len__(self) -> int:
        if not isinstance(self.count, int):
            raise LanguageError("len() of a range whose bounds are element values", "stage")
        return self.count

    def __reversed__(self) -> Range:
        last = self.start + (self.count - 1) * self.step
        return Range(last, self.count, -self.step)


@dataclass(frozen=True, slots=True)
class NdIndex:
    """All index tuples of a shape, in row-major order (backwards if `reverse`)."""

    shape: tuple[Value, ...]
    reverse: bool = False

    def axes(self, names: tuple[str, ...]) -> tuple[tuple[IterVar, ...], Value]:
        axes, values = [], []
        for position, extent in enumerate(self.shape):
            inner = reversed(Range(0, extent)) if self.reverse else Range(0, extent)
            (axis,), value = inner.axes((f"{names[0]}{position}",))
            axes.append(axis)
            values.append(value)
        return tuple(axes), tuple(values)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        total = 1
        for extent in self.shape:
            if not isinstance(extent, int):
                raise LanguageError("this ndindex must be static to unroll, but a dim is not an int", "stage")
            total *= extent
        if total > MAX_UNROLLED:
            raise LanguageError(
                f"a loop of {total} steps would be unrolled; the limit is {MAX_UNROLLED}", "too-large"
            )
        every = ((),) if not self.shape else _product(self.shape)  # type: Iterable[tuple[int, ...]]
        return iter(tuple(every)[::-1] if self.reverse else every)

    def __reversed__(self) -> NdIndex:
        return NdIndex(self.shape, not self.reverse)


def _product(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for i in range(shape[0]):
        for rest in _product(shape[1:]):
            yield (i, *rest)


def range_(*args: Value) -> Range:
    """`range(stop)`, `range(start, stop)`, `range(start, stop, step)`; the step is static and not 0."""
    if not 1 <= len(args) <= 3:
        raise LanguageError(f"range takes 1 to 3 operands, found {len(args)}", "value")
    for value in args:
        if isinstance(value, bool) or not isinstance(value, (int, Expr, Weak)):
            raise LanguageError(f"range takes integers, found {describe(value)}", "value")
    start, stop = (0, args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) == 3 else 1
    if not isinstance(step, int) or step == 0:
        raise LanguageError(
            f"the step of range must be a static int that is not 0, found {describe(step)}", "value"
        )
    if isinstance(start, int) and isinstance(stop, int):
        return Range(start, len(range(start, stop, step)), step)
    start = start if isinstance(start, int) else as_index(start, "a bound of range")
    stop = stop if isinstance(stop, int) else as_index(stop, "a bound of range")
    span = stop - start if step > 0 else start - stop
    count = span if abs(step) == 1 else (span + (abs(step) - 1)) // abs(step)
    if isinstance(count, Expr) and _may_wrap(start, stop):
        ahead = arith.lt(start, stop) if step > 0 else arith.lt(stop, start)
        count = arith.select(ahead, count, arith.const(0, count.dtype))
    elif not (isinstance(count, Var) and count.size):
        count = arith.maximum(count, 0)
    return Range(start, count, step)


def _may_wrap(start: int | Expr, stop: int | Expr) -> bool:
    """Whether the distance of two ends may be past int64: both are elements, and one is bounded by its dtype only."""
    if not isinstance(start, Expr) or not isinstance(stop, Expr) or INDEX in (start.dtype, stop.dtype):
        return False
    with current().analysis() as analyzer:
        spans = [analyzer.interval(end) for end in (start, stop)]
    return any(bound is not None and abs(bound) >= _FAR for span in spans for bound in (span.lo, span.hi))


def ndindex(shape: Value) -> NdIndex:
    """The index tuples of `shape`."""
    if not isinstance(shape, tuple):
        raise LanguageError(f"ndindex takes a shape, found {describe(shape)}", "value")
    for extent in shape:
        if not isinstance(extent, (int, Expr, Weak)):
            raise LanguageError(f"ndindex takes a shape, but one of its dims is {describe(extent)}", "value")
    return NdIndex(shape)


def reversed_(values: Value) -> Value:
    """`reversed(values)` of a range, an ndindex or a tuple."""
    if isinstance(values, (Range, NdIndex)):
        return reversed(values)
    if isinstance(values, (tuple, list)) or is_text(values):
        return tuple(values)[::-1]
    raise LanguageError(
        f"reversed takes a range, an ndindex, a tuple or a text, found {describe(values)}", "value"
    )


def each(values: Value) -> Iterable[AnyType]:
    """The static entries of what a tuple's comprehension runs over."""
    if isinstance(values, (Range, NdIndex, tuple, list)) or is_text(values):
        return values
    raise no_sequence(values)


def no_sequence(values: Value) -> LanguageError:
    """That a `for` cannot run over `values`."""
    text = f"cannot run over {describe(values)}; expected a range, an ndindex, a tuple or a text"
    if isinstance(values, (int, Expr)) and not isinstance(values, bool):
        text += "; so many steps are `range(...)`"
    return LanguageError(text, "value")


def names_of(function: Callable[..., object]) -> tuple[str, ...]:
    """The parameter names of a lambda, starred ones included."""
    code = function.__code__
    count = code.co_argcount + bool(code.co_flags & 0x04)
    return code.co_varnames[:count]
