"""Python's operators on expressions: each symbol is bound to the op whose declaration claims it.

A declaration says `operator: "+"`; the index of its package binds the symbol here (`bind_operator`).  The ops
are loaded on the first use of a symbol that is not bound, by the loader that `set_operator_loader` sets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ..base.errors import CallError, RegistryError
from ..operator import Op
from .build import make_call
from .constant import ExprLike, weak_constant
from .expr import Call, Expr

_BINARY: Final = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_COMPARE: Final = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_UNARY: Final = {"unary -": "neg", "unary ~": "invert", "abs": "abs"}

OPERATORS: Final[dict[str, str | None]] = dict.fromkeys([*_BINARY, *_COMPARE, *_UNARY])
"""Symbol -> name of the op that is bound to it."""

_loader: list[Callable[[], None]] = []


def bind_operator(symbol: str, op_name: str) -> None:
    """Bind `symbol` to an op. Raises RegistryError for an unknown symbol or one that another op has."""
    if symbol not in OPERATORS:
        raise RegistryError(
            f"op {op_name!r} declares operator {symbol!r}; the operators are {', '.join(OPERATORS)}"
        )
    other = OPERATORS[symbol]
    if other not in (None, op_name):
        raise RegistryError(
            f"op {op_name!r} declares operator {symbol!r}, which is bound to op {other!r} already"
        )
    OPERATORS[symbol] = op_name


def set_operator_loader(loader: Callable[[], None]) -> None:
    """Set what is called when a symbol without an op is used; it binds what it can."""
    _loader[:] = [loader]


def operator_op(symbol: str) -> Op:
    """The op bound to `symbol`. Raises RegistryError when no op declares it."""
    name = OPERATORS[symbol]
    if name is None and _loader:
        _loader[0]()
        name = OPERATORS[symbol]
    if name is None:
        raise RegistryError(f"no op declares operator {symbol!r}; declare one with `operator: {symbol!r}`")
    return Op.get(name)


def apply_operator(symbol: str, *operands: ExprLike) -> Call:
    """The call that `symbol` stands for; Python numbers among the operands take the other operand's dtype."""
    op = operator_op(symbol)
    typed = next((e for e in operands if isinstance(e, Expr)), None)
    if typed is None:
        raise CallError(f"operator {symbol!r} needs an expression among its operands")
    return make_call(
        op, [e if isinstance(e, Expr) else weak_constant(e, typed.checked_type) for e in operands]
    )


def _binary(symbol: str, reflected: bool) -> Callable[[Expr, object], Call]:
    def operate(self: Expr, other: object) -> Call:
        if not isinstance(other, Expr | bool | int | float | np.ndarray | np.generic):
            return NotImplemented  # type: ignore[no-any-return]  # Python then asks the other operand
        return apply_operator(symbol, other, self) if reflected else apply_operator(symbol, self, other)

    return operate


def _unary(symbol: str) -> Callable[[Expr], Call]:
    return lambda self: apply_operator(symbol, self)


def _attach() -> None:
    for symbol, name in _BINARY.items():
        setattr(Expr, f"__{name}__", _binary(symbol, reflected=False))
        setattr(Expr, f"__r{name}__", _binary(symbol, reflected=True))
    for symbol, name in _COMPARE.items():
        setattr(Expr, f"__{name}__", _binary(symbol, reflected=False))
    for symbol, name in _UNARY.items():
        setattr(Expr, f"__{name}__", _unary(symbol))


_attach()
