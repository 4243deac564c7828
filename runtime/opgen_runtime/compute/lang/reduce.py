"""Reductions: `sum(e for k in range(n) if c)` is `sum(over(range(n), lambda k: when(c, lambda: e)))`.

A comprehension becomes a term: loops, conditions and unrolled parts around values.  The reduction folds the
term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial

from ...base import arith
from ...base.arith.expr import Expr
from ...base.errors import LanguageError
from ...base.vocabulary import BOOL, INDEX, INT64, POSITIONAL, DType, dataclass
from ..te.tensor import IterVar, Reduce
from .choices import search
from .conditions import both, either, join, less
from .element import checked_add, checked_mul, intrinsic
from .ranges import MAX_UNROLLED, NdIndex, Range, names_of, no_sequence
from .scope import among_elements, bound, guarded
from .weak import Value, Weak, as_condition, as_expr, describe, is_static, is_text, join_kind, kind_of, lift


@dataclass(frozen=True, slots=True)
class Looped:
    """One value of `body` for each point of the axes."""

    axes: tuple[IterVar, ...]
    body: Value


@dataclass(frozen=True, slots=True)
class Unrolled:
    """The parts one after the other."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """`body` where `condition` holds, else nothing."""

    condition: Expr
    body: Value


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing: a static condition left the step out, which still counts as a position."""


Term = Looped | Unrolled | Conditional | Skipped


def over(source: Value, body: Callable[..., Value], unpack: bool = False) -> Term:
    """The term of `body for ... in source`; `unpack` spreads each entry over the parameters of `body`.

    Among elements a range or an ndindex is a loop; in static code it is unrolled.
    """
    if isinstance(source, (Range, NdIndex)) and not among_elements():
        return over(tuple(source), body, unpack)
    if isinstance(source, (Range, NdIndex)):
        axes, value = source.axes(names_of(body))
        with bound(axes):
            return Looped(axes, body(*value) if unpack else body(value))
    if isinstance(source, (tuple, list)) or is_text(source):
        entries = tuple(source)
        if len(entries) > MAX_UNROLLED:
            raise LanguageError(
                f"a loop of {len(entries)} steps would be unrolled; the limit is {MAX_UNROLLED}", "too-large"
            )
        return Unrolled(tuple(body(*entry) if unpack else body(entry) for entry in entries))
    raise no_sequence(source)


def when(condition: Value, body: Callable[[], Value]) -> Value:
    """The term of `body if condition` in a comprehension."""
    found = as_condition(condition, "the condition of a comprehension")
    if isinstance(found, bool):
        return body() if found else Skipped()
    with guarded(found):
        return Conditional(found, body())


# ------------------------------------------------------------------ folding


def _identity(combiner: str) -> Value:
    """The value of an empty reduction (opdef-language: Reductions)."""
    if combiner in ("any", "all"):
        return combiner == "all"
    if combiner in ("sum", "prod"):
        return 0 if combiner == "sum" else 1
    return Weak("unknown", lambda d: arith.const(d.highest if combiner == "min" else d.lowest, d))


def _of_nothing(combiner: str) -> Value:
    """The value of a reduction without steps; in static code `min` and `max` have none."""
    if combiner in ("min", "max") and not among_elements():
        raise LanguageError(f"{combiner} of nothing has no static value", "value")
    return _identity(combiner)


def combine(combiner: str, a: Value, b: Value) -> Value:
    """One step of a commutative reduction on two values."""
    if combiner == "sum":
        return checked_add(a, b)
    if combiner == "prod":
        return checked_mul(a, b)
    if combiner == "any":
        return either(a, lambda: b)
    if combiner == "all":
        return both(a, lambda: b)
    if is_static(a) and is_static(b):
        return min(a, b) if combiner == "min" else max(a, b)
    return lift(arith.minimum if combiner == "min" else arith.maximum, a, b)


def _reduce(combiner: str, axes: tuple[IterVar, ...], value: Value, condition: Expr | None) -> Value:
    """The `Reduce` node over `axes`, weak if its value is."""

    def make(dtype: DType) -> Expr:
        expr = as_expr(value, dtype)
        result = INDEX if combiner in POSITIONAL else expr.dtype
        return Reduce(result, combiner, axes, expr, condition)

    if isinstance(value, Expr):
        return make(value.dtype)
    if combiner in POSITIONAL:
        return make(
            INT64 if kind_of(value) == "int" else BOOL if kind_of(value) == "bool" else DType("float64")
        )
    if combiner in ("any", "all"):
        return make(BOOL)
    return Weak(kind_of(value), make)


def _flatten(term: Value) -> tuple[tuple[IterVar, ...], Expr | None, Value]:
    """Loops and conditions from the outside in, joined: axes, condition, what is inside.

    A loop whose ends depend on another of the loops stays inside.
    """
    axes: tuple[IterVar, ...] = ()
    condition: Expr | None = None
    while isinstance(term, (Looped, Conditional)):
        if isinstance(term, Looped):
            if _depends(term.axes, axes):
                break
            axes += term.axes
        else:
            condition = term.condition if condition is None else _conjunction(condition, term.condition)
        term = term.body
    return axes, condition, term


def _depends(inner: tuple[IterVar, ...], outer: tuple[IterVar, ...]) -> bool:
    """True if an end of the inner loops depends on a loop variable of the outer ones."""
    variables = {axis.var for axis in outer}
    ends = (axis.extent for axis in inner if isinstance(axis.extent, Expr))
    return any(node in variables for end in ends for node in arith.post_order(end))


def _conjunction(a: Expr, b: Expr) -> Expr:
    return arith.select(a, b, arith.const(False, BOOL))


def fold(combiner: str, term: Value) -> Value:
    """The value of a commutative reduction (sum prod min max any all) over a term."""
    if isinstance(term, Unrolled):
        if combiner == "sum" and term.parts and all(type(part) is int for part in term.parts):
            return checked_add(sum(term.parts), 0)
        if combiner in ("all", "any") and all([type(part) is bool for part in term.parts]):
            return all(term.parts) if combiner == "all" else any(term.parts)
        parts = [fold(combiner, part) for part in term.parts if not isinstance(part, Skipped)]
        if not parts:
            return _of_nothing(combiner)
        result = parts[0]
        for part in parts[1:]:
            result = combine(combiner, result, part)
        return result
    if isinstance(term, Skipped):
        return _of_nothing(combiner)
    if isinstance(term, Conditional):
        inner = fold(combiner, term.body)
        return join(term.condition, inner, _identity(combiner))
    if isinstance(term, Looped):
        axes, condition, inner = _flatten(term)
        return _reduce(combiner, axes, _operand(combiner, fold(combiner, inner)), condition)
    return _operand(combiner, term)


def _operand(combiner: str, value: Value) -> Value:
    if combiner in ("any", "all"):
        return as_condition(value, combiner)
    if isinstance(value, Expr) and value.dtype.is_bool:
        raise LanguageError(f"{combiner} takes numbers, found bool; cast it to an integer first", "dtype")
    if not isinstance(value, (Expr, Weak, int, float)):
        raise LanguageError(f"{combiner} takes numbers, found {describe(value)}", "value")
    return value


def _as_term(values: tuple[Value, ...]) -> Value:
    """The operands of a call as a term: a term, one iterable, or several values."""
    if len(values) != 1:
        return Unrolled(values)
    (only,) = values
    if isinstance(only, Term):
        return only
    if isinstance(only, Range):
        return over(only, lambda k: k)
    if isinstance(only, Iterable) and not isinstance(only, str):
        return Unrolled(tuple(only))
    if isinstance(only, (Expr, Weak, int, float)):
        raise LanguageError(
            f"a reduction takes a comprehension, a tuple or several values, found {describe(only)}", "value"
        )
    raise LanguageError(f"cannot reduce {describe(only)}", "value")


def _commutative(combiner: str) -> Callable[..., Value]:
    def apply(*values: Value) -> Value:
        return fold(combiner, _as_term(values))

    apply.__doc__ = f"`{combiner}(...)` over a comprehension, a tuple or several values."
    return apply


sum_ = _commutative("sum")
prod = _commutative("prod")
min_ = _commutative("min")
max_ = _commutative("max")
any_ = _commutative("any")
all_ = _commutative("all")


def _arg(combiner: str) -> Callable[[Value], Value]:
    def apply(values: Value) -> Value:
        term = _as_term((values,))
        if not isinstance(term, Looped):
            return _arg_of_steps(combiner, tuple(_steps(combiner, term, True)))
        axes, condition, inner = _flatten(term)
        if isinstance(inner, Skipped):
            return -1
        if isinstance(inner, Looped):
            text = (
                "no position where the ends of a loop depend on another; run over all steps, with a condition"
            )
            raise LanguageError(f"{combiner} has {text}", "value")
        if isinstance(inner, Unrolled):
            raise LanguageError(f"{combiner} runs over loops or over a tuple, not over both", "value")
        return _reduce(combiner, axes, _operand(combiner, inner), condition)

    apply.__doc__ = f"`{combiner}(...)`: the row-major position of the first such value, -1 if there is none."
    return apply


def _steps(combiner: str, term: Value, condition: Value) -> Iterator[tuple[Value, Value]]:
    """The steps of what is unrolled: the condition under which each counts, and its value."""
    if isinstance(term, Unrolled):
        for part in term.parts:
            yield from _steps(combiner, part, condition)
    elif isinstance(term, Conditional):
        yield from _steps(combiner, term.body, both(condition, lambda: term.condition))
    elif isinstance(term, Skipped):
        yield False, None
    elif isinstance(term, Looped):
        raise LanguageError(f"{combiner} runs over loops or over a tuple, not over both", "value")
    else:
        yield condition, _operand(combiner, term)


def _arg_of_steps(combiner: str, steps: tuple[tuple[Value, Value], ...]) -> Value:
    best: Value = _identity("max" if combiner == "argmax" else "min")
    position: Value = -1
    for index, (condition, value) in enumerate(steps):
        if condition is False:
            continue
        better = condition
        if not isinstance(position, int) or position >= 0:
            better = both(condition, partial(_ahead, combiner, value, best, position))
        if isinstance(better, bool):
            best, position = (value, index) if better else (best, position)
        else:
            best, position = join(better, value, best), join(better, index, position)
    return position


def _ahead(combiner: str, value: Value, best: Value, position: Value) -> Value:
    """True where nothing was found so far, or `value` beats it."""
    return either(less(position, 0), lambda: _better(combiner, value, best))


def _better(combiner: str, a: Value, b: Value) -> Value:
    """True where `a` beats `b`; NaN beats every number and is beaten by none."""
    from_fn = arith.gt if combiner == "argmax" else arith.lt
    if is_static(a) and is_static(b):
        return a > b if combiner == "argmax" else a < b
    ahead = lift(from_fn, a, b)
    typed = next((v for v in (a, b) if isinstance(v, Expr)), None)
    if typed is None or not typed.dtype.is_float:
        return ahead.make(INT64) if isinstance(ahead, Weak) else ahead
    x, y = as_expr(a, typed.dtype), as_expr(b, typed.dtype)
    a_nan, b_nan = intrinsic("isnan", x), intrinsic("isnan", y)
    return arith.logical_and(arith.logical_or(ahead, a_nan), arith.logical_not(b_nan))


argmax = _arg("argmax")
argmin = _arg("argmin")


def next_(values: Value, default: Callable[[], Value]) -> Value:
    """`next((e for ... if c), d)`: the first match in iteration order, else the default (built when
    needed)."""
    return _first(_as_term((values,)), default)


def _first(term: Value, default: Callable[[], Value]) -> Value:
    """The first value of a term; its alternatives may be many, so that they are joined from the last to the first."""
    parts = _alternatives(term)
    if parts and not isinstance(parts[-1], Term):
        last = parts.pop()
        default = partial(_known, last)
    if all(isinstance(part, Conditional) and not isinstance(part.body, Term) for part in parts):
        found = search([(part.condition, part.body) for part in parts], default)
        if found is not None:
            return found
    with ExitStack() as guards:
        for part in parts:
            if isinstance(part, Conditional) and not isinstance(part.body, Term):
                guards.enter_context(guarded(arith.logical_not(part.condition)))
        value = default()
    for part in reversed(parts):
        value = _or_else(part, value)
    return value


def _known(value: Value) -> Value:
    return value


def _alternatives(term: Value) -> list[Value]:
    """What is unrolled, one after the other, up to the first that is a value under no condition."""
    found: list[Value] = []
    stack = [term]
    while stack:
        part = stack.pop()
        if isinstance(part, Unrolled):
            stack.extend(reversed(part.parts))
        elif not isinstance(part, Skipped):
            found.append(part)
            if not isinstance(part, Term):
                break
    return found


def _or_else(term: Looped | Conditional, otherwise: Value) -> Value:
    """The first value of a term, else `otherwise`."""
    axes, condition, inner = _flatten(term)
    if not axes:
        assert condition is not None
        with guarded(condition):
            return join(condition, _first(inner, partial(_known, otherwise)), otherwise)
    if isinstance(inner, Term):  # the first of the first round that has one
        found = fold("any", _found(inner))
        inner = _first(inner, partial(_known, otherwise))
        if found is False:
            return otherwise
        if isinstance(found, Expr):
            condition = found if condition is None else _conjunction(condition, found)

    def make(dtype: DType) -> Expr:
        value = as_expr(inner, dtype)
        return Reduce(value.dtype, "first", axes, value, condition, as_expr(otherwise, value.dtype))

    for value in (inner, otherwise):
        if isinstance(value, Expr):
            return make(value.dtype)
    return Weak(join_kind((inner, otherwise)), make)


def _found(term: Value) -> Value:
    """The term with True for each of its values."""
    if isinstance(term, Looped):
        return Looped(term.axes, _found(term.body))
    if isinstance(term, Conditional):
        return Conditional(term.condition, _found(term.body))
    if isinstance(term, Unrolled):
        return Unrolled(tuple(map(_found, term.parts)))
    return term if isinstance(term, Skipped) else True
