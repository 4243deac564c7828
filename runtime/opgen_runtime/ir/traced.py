"""`Traced`: what stands for a tensor while a Python function is traced.

Expressions are nodes with an identity; what users compute with has the face of an array, where `==` compares elements.
So a traced value is another object around an expression.  Calls take traced values for operands and give traced ones
(`build.make_call`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NoReturn

from ..base.vocabulary import FLOAT32, DType
from .expr import Expr


class Traced(ABC):
    """A value that is computed when the traced program runs; `jit` gives them to the function that it traces."""

    __slots__ = ()

    @property
    @abstractmethod
    def expr(self) -> Expr:
        """The expression that computes the value."""

    @property
    @abstractmethod
    def weak(self) -> bool:
        """Whether it is a Python float that is given when the program runs, and takes the dtype of what it meets."""

    @abstractmethod
    def typed(self, dtype: DType) -> Expr:
        """A weak value in `dtype`. Raises DTypeError where that is no float dtype."""

    @abstractmethod
    def wrapped(self, expr: Expr) -> Any:
        """`expr` as a traced value; one of tuple type as a tuple of these."""

    @abstractmethod
    def needed(self, what: str) -> NoReturn:
        """Raises CallError: `what` needs the value itself, which is not known while the function is traced."""


def expr_of(value: Traced) -> Expr:
    """The expression of a traced value; a weak one alone is float32, as Python floats are."""
    return value.typed(FLOAT32) if value.weak else value.expr


def first_traced(operands: Iterable[object]) -> Traced | None:
    """The first traced value among operands and the sequences among them."""
    for operand in operands:
        if isinstance(operand, Traced):
            return operand
        if isinstance(operand, list | tuple):
            found = first_traced(operand)
            if found is not None:
                return found
    return None


def refuse_traced(op_name: str, attrs: Iterable[tuple[str, object]]) -> None:
    """Raises CallError for an attr that is a traced value: attrs decide the program."""
    for name, value in attrs:
        found = first_traced((value,))
        if found is not None:
            found.needed(f"attr {name!r} of {op_name}")
