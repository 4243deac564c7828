"""Python's operators on expressions (`==` stays identity)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .build import add, div, floordiv, floormod, ge, gt, le, lt, mul, negate, sub
from .expr import Expr


def _method(fn: Callable[[object, object], Expr], swapped: bool = False) -> Callable[[Expr, object], Expr]:
    """`fn` as an operator of Expr; operands of other classes get their turn (`NotImplemented`)."""

    def method(a: Expr, b: object) -> Expr:
        if not isinstance(b, (Expr, int, float, np.generic)):
            return NotImplemented  # type: ignore[no-any-return]  # Python tries the other operand
        return fn(b, a) if swapped else fn(a, b)

    return method


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
