"""Values for variables of statements and expressions that people write or take apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import overload

from ....base.arith import Expr, Var, const, post_order
from ....base.errors import DTypeError, LoweringError
from .folding import fold_substitute
from .relocate import Adopted, Relocator
from .stmt import Stmt
from .visit import bound, statements


@overload
def substitute(node: Stmt, values: Mapping[Var, Expr | int]) -> Stmt: ...


@overload
def substitute(node: Expr, values: Mapping[Var, Expr | int]) -> Expr: ...


def substitute(node: Stmt | Expr, values: Mapping[Var, Expr | int]) -> Stmt | Expr:
    """The statement or expression with values for variables, also in the shapes of what it allocates.

        for i in range(n): y[i] = x[i + n]      for i in range(4): y[i] = x[i + 4]      {n: 4}

    What becomes constant is folded.  Raises DTypeError for a value of another dtype than its variable, LoweringError
    for a variable that the statement itself binds, and for a value that reads one.
    """
    given = {var: _value(var, value) for var, value in values.items()}
    if isinstance(node, Expr):
        return fold_substitute(node, given)
    made = {var for each in statements(node) for var in bound(each) if isinstance(var, Var)}
    for var, value in given.items():
        if var in made:
            raise LoweringError(
                f"substitute: the statement binds {var.name}; expected a variable that it reads only"
            )
        captured = next((each for each in post_order(value) if each in made), None)
        if captured is not None:
            raise LoweringError(
                f"substitute: {var.name} is to be {value}, which reads {captured}; the statement binds it"
            )
    return _Substituted(given).stmt(node)


def _value(var: Var, value: Expr | int) -> Expr:
    if not isinstance(value, Expr):
        return const(value, var.dtype)
    if value.dtype is not var.dtype:
        raise DTypeError(
            f"substitute: {var.name} is of dtype {var.dtype}, its value {value} of {value.dtype}"
        )
    return value


class _Substituted(Adopted):
    """Folds what becomes constant."""

    def __init__(self, values: Mapping[Var, Expr]) -> None:
        super().__init__({}, values)

    def expr(self, e: Expr) -> Expr:
        return fold_substitute(Relocator.expr(self, e), self.dims)
