"""Python's operators on expressions.  `==` is identity, but for `comparing()`: there it makes an expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import numpy as np

from ..errors import DTypeError
from ..vocabulary import DType
from .build import (
    add,
    bit_and,
    bit_not,
    bit_or,
    bit_xor,
    call,
    div,
    eq,
    floordiv,
    floormod,
    ge,
    gt,
    le,
    lt,
    mul,
    ne,
    negate,
    shift_left,
    shift_right,
    sub,
)
from .expr import Expr
from .literals import cast


def _method(fn: Callable[[object, object], Expr], swapped: bool = False) -> Callable[[Expr, object], Expr]:
    """`fn` as an operator of Expr; operands of other classes get their turn (`NotImplemented`)."""

    def method(a: Expr, b: object) -> Expr:
        if not isinstance(b, (Expr, int, float, np.generic)):
            return NotImplemented  # type: ignore[no-any-return]  # Python tries the other operand
        return fn(b, a) if swapped else fn(a, b)

    return method


_COMPARING: Final[ContextVar[bool]] = ContextVar("comparing", default=False)


@contextmanager
def comparing() -> Iterator[None]:
    """While users' functions of elements run: `a == b` and `a != b` are expressions, whose truth nobody can ask for."""
    token = _COMPARING.set(True)
    try:
        yield
    finally:
        _COMPARING.reset(token)


def equality(a: object, b: object, fn: Callable[[object, object], Expr]) -> Expr:
    """`fn(a, b)` within `comparing()`; else NotImplemented, by which Python falls back to identity.

    Raises DTypeError for a number beside what is none.
    """
    if not _COMPARING.get():
        return NotImplemented  # type: ignore[no-any-return]  # Python's protocol
    if not isinstance(b, Expr | int | float | np.generic):
        raise DTypeError(f"cannot compare {a} and {b!r:.80}: expected a number or an expression")
    return fn(a, b)


# Set past the type checker: elsewhere expressions are keys of dicts, and `==` gives a bool.
for _name, _fn in (("__eq__", eq), ("__ne__", ne)):
    setattr(Expr, _name, lambda a, b, fn=_fn: equality(a, b, fn))
Expr.__add__ = _method(add)
Expr.__radd__ = _method(add, swapped=True)
Expr.__sub__ = _method(sub)
Expr.__rsub__ = _method(sub, swapped=True)
Expr.__mul__ = _method(mul)
Expr.__rmul__ = _method(mul, swapped=True)
Expr.__floordiv__ = _method(floordiv)
Expr.__rfloordiv__ = _method(floordiv, swapped=True)
Expr.__mod__ = _method(floormod)
Expr.__rmod__ = _method(floormod, swapped=True)
Expr.__truediv__ = _method(div)
Expr.__rtruediv__ = _method(div, swapped=True)
Expr.__neg__ = negate
Expr.__lt__ = _method(lt)
Expr.__le__ = _method(le)
Expr.__gt__ = _method(gt)
Expr.__ge__ = _method(ge)
Expr.__and__ = _method(bit_and)
Expr.__rand__ = _method(bit_and, swapped=True)
Expr.__or__ = _method(bit_or)
Expr.__ror__ = _method(bit_or, swapped=True)
Expr.__xor__ = _method(bit_xor)
Expr.__rxor__ = _method(bit_xor, swapped=True)
Expr.__lshift__ = _method(shift_left)
Expr.__rlshift__ = _method(shift_left, swapped=True)
Expr.__rshift__ = _method(shift_right)
Expr.__rrshift__ = _method(shift_right, swapped=True)
Expr.__pow__ = _method(lambda a, b: call("pow", a, b))
Expr.__rpow__ = _method(lambda a, b: call("pow", a, b), swapped=True)
Expr.__invert__ = bit_not
Expr.__abs__ = lambda e: call("abs", e)
Expr.astype = lambda e, dtype: cast(e, DType(dtype))
