"""Values for variables of statements and expressions that people write or take apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, overload

from ....base.arith import Expr, Var, const, post_order
from ....base.errors import DTypeError, LoweringError
from .folding import fold_substitute
from .relocate import Adopted, Relocator, substituted_dim
from .stmt import Buffer, PrimFunc, Stmt
from .visit import bound, statements

NOTHING: Final[Mapping[Buffer, Buffer]] = MappingProxyType({})


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


def specialize(func: PrimFunc, values: Mapping[Var, int]) -> PrimFunc:
    """The kernel for values of some of its dims, which are numbers in the shapes of its parameters, too.

    Raises LoweringError for a variable that is no dim of the kernel, and for a value that is no size.
    """
    for var, value in values.items():
        if var not in func.dims:
            known = ", ".join([each.name for each in func.dims]) or "none"
            raise LoweringError(f"specialize: {func.name} has no dim {var}; its dims are: {known}")
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise LoweringError(
                f"specialize: {var.name} is to be {value!r:.80}, expected a number of elements"
            )
    given: dict[Var, Expr] = {var: const(value, var.dtype) for var, value in values.items()}
    moved = {
        each: replace(each, shape=tuple([substituted_dim(dim, given) for dim in each.shape]))
        for each in (*func.inputs, *func.outputs)
    }
    return replace(
        func,
        inputs=tuple([moved[each] for each in func.inputs]),
        outputs=tuple([moved[each] for each in func.outputs]),
        body=_Substituted(given, moved).stmt(func.body),
        dims=tuple([dim for dim in func.dims if dim not in values]),
    )


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

    def __init__(self, values: Mapping[Var, Expr], moved: Mapping[Buffer, Buffer] = NOTHING) -> None:
        super().__init__(dict(moved), values)

    def expr(self, e: Expr) -> Expr:
        return fold_substitute(Relocator.expr(self, e), self.dims)
