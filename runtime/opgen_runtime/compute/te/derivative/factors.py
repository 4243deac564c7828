"""What a sum multiplies all its elements by, taken out of it: once a result instead of once an element.

sum(g[i, k] * s[i] * -0.5 for k)   -->   sum(g[i, k] for k) * (s[i] * -0.5)
"""

from __future__ import annotations

from collections.abc import Collection

from ....base.arith import Binary, Expr, Var, div, free_vars, mul
from ....base.vocabulary import dataclass


@dataclass(frozen=True, slots=True)
class Factored:
    """`element * factor / divisor`, of which the last two are the same for all elements; None is one."""

    element: Expr
    factor: Expr | None = None
    divisor: Expr | None = None

    def times(self, total: Expr) -> Expr:
        """The sum, from that of the elements."""
        total = total if self.factor is None else mul(total, self.factor)
        return total if self.divisor is None else div(total, self.divisor)


def factored(value: Expr, loops: Collection[Var]) -> Factored:
    """`value` as the elements of a sum over `loops` and what they have in common."""
    element, factor, divisor = _split(value, frozenset(loops))
    return Factored(value) if element is None else Factored(element, factor, divisor)


def _split(value: Expr, loops: frozenset[Var]) -> tuple[Expr | None, Expr | None, Expr | None]:
    if loops.isdisjoint(free_vars(value)):
        return None, value, None
    if isinstance(value, Binary) and value.op == "mul":
        (a, a_factor, a_divisor), (b, b_factor, b_divisor) = _split(value.a, loops), _split(value.b, loops)
        return _product(a, b), _product(a_factor, b_factor), _product(a_divisor, b_divisor)
    if isinstance(value, Binary) and value.op == "div" and loops.isdisjoint(free_vars(value.b)):
        element, factor, divisor = _split(value.a, loops)
        return element, factor, _product(divisor, value.b)
    return value, None, None


def _product(a: Expr | None, b: Expr | None) -> Expr | None:
    return b if a is None else a if b is None else mul(a, b)
