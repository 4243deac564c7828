"""Dims and shapes: equality, normalisation, and numpy's broadcasting over symbolic dims."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from ...base.arith import Analyzer, Compare, Select, eq, select, structural_equal, structural_hash
from ...base.arith.expr import Any, AnyDim, Binary, Const, Dim, Expr, Shape, Var
from ...base.errors import ShapeError, shown

Assume = Callable[[Dim, Dim], None]
Met = list[tuple[int, Expr]]
_noted: Final[ContextVar[Met | None]] = ContextVar("numbers that dims met in broadcasts", default=None)


def normalise_dim(value: object) -> Dim:
    """A dim: an int that is at least 0, or an integer expression. Raises ShapeError for anything else.

    An expression that holds an unknown dim is itself unknown.
    """
    if isinstance(value, Expr):
        if isinstance(value, Const):
            value = value.value
        elif isinstance(value, (Var, AnyDim)):
            return value
        elif not value.dtype.is_int:
            raise ShapeError(f"a dim must be an integer, found {value} of dtype {value.dtype}")
        else:
            return Any() if holds_any(value) else value
    if isinstance(value, bool):
        raise ShapeError(f"a dim must be an integer, found {value}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # what is no int raises, and is reported
    except TypeError:
        raise ShapeError(f"a dim must be an int or a symbolic dim, found {shown(value):.80}") from None
    if number < 0:
        raise ShapeError(f"a dim must be at least 0, found {number}")
    return number


def holds_any(value: Expr) -> bool:
    """Whether an expression contains an unknown dim."""
    stack: list[Expr] = [value]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, AnyDim):
            return True
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(node.children())
    return False


def dims_equal(a: Dim, b: Dim) -> bool:
    """Equality of dims as parts of a type: ints by value, expressions by structure; `?` is written as `?`."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    if a is b or (isinstance(a, AnyDim) and isinstance(b, AnyDim)):
        return True
    if isinstance(a, (Var, AnyDim)) or isinstance(b, (Var, AnyDim)):
        return False
    return structural_equal(a, b)


def same_shape(a: Shape, b: Shape) -> bool:
    """Whether two shapes are the same whatever their dims are; an unknown dim is the same as itself alone."""
    return a == b or (
        len(a) == len(b)
        and all(x is y or (not isinstance(x, AnyDim) and dims_equal(x, y)) for x, y in zip(a, b, strict=True))
    )


def says_more(a: Dim, b: Dim) -> bool:
    """Whether a dim that is said of a value is more than what is known of it: neither `?` nor seen to be equal."""
    if isinstance(a, AnyDim) or dims_equal(a, b):
        return False
    both_known = isinstance(a, int) and isinstance(b, int)
    return both_known or isinstance(b, AnyDim) or not Analyzer().prove(eq(a, b))


def shape_key(shape: Shape) -> tuple[object, ...]:
    """A hashable key that agrees with `dims_equal`."""
    return tuple([d if isinstance(d, int) else _dim_key(d) for d in shape])


def _dim_key(d: Expr) -> object:
    if isinstance(d, AnyDim):
        return "?"
    return d if isinstance(d, Var) else structural_hash(d)


def certainly_different(a: Dim, b: Dim) -> bool:
    """Whether no values of the symbols make the dims equal, as far as constants tell (n and n + 1 differ)."""
    if isinstance(a, int) and isinstance(b, int):
        return a != b
    (base_a, offset_a), (base_b, offset_b) = _split_offset(a), _split_offset(b)
    if base_a is None or base_b is None:
        # a constant against an expression: only a dim that is at least 0 plus an offset has a known range
        offset, base, constant = (
            (offset_a, base_a, offset_b) if base_b is None else (offset_b, base_b, offset_a)
        )
        return isinstance(base, Var) and base.size and constant < offset
    if isinstance(base_a, AnyDim) or isinstance(base_b, AnyDim):
        return False
    return offset_a != offset_b and (base_a is base_b or structural_equal(base_a, base_b))


def _split_offset(d: Dim) -> tuple[Expr | None, int]:
    if isinstance(d, int):
        return None, d
    if isinstance(d, Binary) and d.op in ("add", "sub") and isinstance(d.b, Const):
        offset = int(d.b.value)
        return d.a, offset if d.op == "add" else -offset
    return d, 0


@contextmanager
def numbers_in_broadcasts() -> Iterator[Met]:
    """What `broadcast` takes to hold inside, in this thread: (number, dim) where the dim is that number or 1.

    The type that a broadcast gives no longer says so: it has the number.
    """
    met: Met = []
    token = _noted.set(met)
    try:
        yield met
    finally:
        _noted.reset(token)


def broadcast(*shapes: Sequence[Dim]) -> Shape:
    """numpy's broadcast of shapes, aligned at the right: each dim is the operands' common one; 1 gives way.

    With symbolic dims: 1 and n give n; n and n give n; an int other than 1 wins over n; n and m give
    `m if n == 1 else n` (the check that they are equal, or one of them 1, is repeated with the values).  `?` stays `?`
    beside anything but an int other than 1.  Raises ShapeError for two ints that differ, neither being 1.
    """
    if len(shapes) == 2:
        first, second = shapes
        if tuple(first) == tuple(second):
            return tuple(first)
    rank = max(map(len, shapes), default=0)
    result: list[Dim] = [1] * rank
    for shape in shapes:
        for position, d in enumerate(shape, rank - len(shape)):
            result[position] = _join(result[position], d, shapes)
    return tuple(result)


def _join(a: Dim, b: Dim, shapes: Sequence[Sequence[Dim]]) -> Dim:
    if isinstance(a, int):
        if a == 1:
            return b
        if isinstance(b, int) and b not in (1, a):
            listed = " and ".join(map(shape_text, shapes))
            raise ShapeError(f"shapes {listed} do not broadcast: {a} and {b} differ and neither is 1")
        return a if isinstance(b, int) else _note(a, b)
    if isinstance(b, int):
        return a if b == 1 else _note(b, a)
    if isinstance(a, AnyDim) or isinstance(b, AnyDim):
        return b if isinstance(b, AnyDim) else a
    if _holds(a, b):  # what met a dim before
        return a
    return b if _holds(b, a) else select(eq(a, 1), b, a)


def _note(number: int, dim: Expr) -> int:
    met = _noted.get()
    if met is not None:
        met.append((number, dim))
    return number


def _holds(joined: Expr, each: Expr) -> bool:
    """Whether all dims of which broadcasts have made one dim are among those of the other."""
    return all(any(dims_equal(a, b) for a in _joined(joined)) for b in _joined(each))


def _joined(dim: Dim) -> list[Dim]:
    """The dims that have met in broadcasts to give a dim; itself where none have."""
    pair = broadcast_pair(dim)
    return [dim] if pair is None else [*_joined(pair[0]), *_joined(pair[1])]


def broadcast_pair(dim: Dim) -> tuple[Expr, Expr] | None:
    """The two dims that have met in a broadcast to give `dim`; None for any other."""
    if not isinstance(dim, Select) or not isinstance(dim.condition, Compare) or dim.condition.op != "eq":
        return None
    a, one = dim.condition.a, dim.condition.b
    met = dim.otherwise is a and isinstance(one, Const) and one.value == 1
    return (a, dim.then) if met else None


def dim_text(d: Dim) -> str:
    """A dim as types print it: `3`, `n`, `n*2`, `?`."""
    if isinstance(d, AnyDim):
        return "?"
    return str(d)


def shape_text(shape: Sequence[Dim]) -> str:
    """`(3, n, ?)`, `(3,)`, `()`."""
    return f"({', '.join(map(dim_text, shape))}{',' if len(shape) == 1 else ''})"


def prefer(a: Dim, b: Dim) -> Dim:
    """Of two dims that are taken to be equal, the one that says more: an int, then a symbol, then `?`."""
    if isinstance(a, int) or isinstance(b, AnyDim):
        return a
    return b if isinstance(b, int) or isinstance(a, AnyDim) else a
