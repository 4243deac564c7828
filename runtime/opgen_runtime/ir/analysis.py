"""Questions about programs: their variables, type parameters and dtypes, and whether they are constants.

Each gives what it finds in the order of evaluation, once (`free_vars`, which passes ask, is in visitor.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..base.vocabulary import DType
from ..operator import FuncType, TensorType, TupleType, Type, TypeVar
from .expr import Call, Constant, Expr, Function, GlobalVar, Let, Tuple, Var
from .visitor import post_order


def all_vars(expr: Expr) -> list[Var]:
    """All variables, bound or not."""
    return [node for node in post_order(expr) if isinstance(node, Var)]


def bound_vars(expr: Expr) -> list[Var]:
    """The variables that a `let` or a function of `expr` binds."""
    found: dict[Var, None] = {}
    for node in post_order(expr):
        if isinstance(node, Let):
            found.setdefault(node.var)
        elif isinstance(node, Function):
            found.update(dict.fromkeys(node.params))
    return list(found)


def all_type_vars(of: Expr | Type) -> list[TypeVar]:
    """The type parameters that a program or a type names, bound or not."""
    return list(dict.fromkeys([t for t in _types(of) if isinstance(t, TypeVar)]))


def bound_type_vars(of: Expr | Type) -> list[TypeVar]:
    """The type parameters that a function of the program, or a type of functions, binds."""
    found = [p for t in _types(of) if isinstance(t, FuncType) for p in t.type_params]
    if isinstance(of, Expr):
        found += [p for node in post_order(of) if isinstance(node, Function) for p in node.type_params]
    return list(dict.fromkeys(found))


def free_type_vars(of: Expr | Type) -> list[TypeVar]:
    """The type parameters that a program or a type names and does not bind."""
    bound = set(bound_type_vars(of))
    return [each for each in all_type_vars(of) if each not in bound]


def all_dtypes(expr: Expr) -> set[DType]:
    """The element types of all values of a program, as far as they are known."""
    types = [t for node in post_order(expr) for t in _parts(node.checked_type)]
    return {t.dtype for t in types if isinstance(t, TensorType)}


def check_constant(expr: Expr) -> bool:
    """Whether the expression is a constant, or a tuple of constants."""
    return all([isinstance(node, Constant | Tuple) for node in post_order(expr)])


def _types(of: Expr | Type) -> Iterator[Type]:
    """The types that a program states, with their parts."""
    if isinstance(of, Type):
        yield from _parts(of)
        return
    for node in post_order(of):
        stated: tuple[Type | None, ...] = ()
        if isinstance(node, Var | GlobalVar):
            stated = (node.type,)
        elif isinstance(node, Call):
            stated = node.type_args
        elif isinstance(node, Function):
            stated = (*node.type_params, node.ret_type)
        for type_ in stated:
            if type_ is not None:
                yield from _parts(type_)


def _parts(type_: Type) -> Iterator[Type]:
    """A type, and the types that it is made of."""
    stack = [type_]
    while stack:
        part = stack.pop()
        yield part
        if isinstance(part, TupleType):
            stack.extend(reversed(part.fields))
        elif isinstance(part, FuncType):
            stack.extend(reversed((*part.type_params, *part.params, part.ret)))
