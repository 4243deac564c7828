"""Constants from Python values and arrays.

Python numbers are weak: beside a typed operand they take its dtype (an int suits any number, a float only floats and
complex numbers, a complex only these, a bool only bool).  Alone, an int is int32, a float float32, a complex complex64
and a bool bool.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ..base.errors import CallError, DTypeError
from ..base.vocabulary import BOOL, COMPLEX64, FLOAT32, INT32, DType
from ..operator import TensorType, Type
from .admit import admissible, admit
from .expr import Constant, Expr
from .traced import Traced, expr_of

Literal: TypeAlias = bool | int | float | complex
ExprLike: TypeAlias = Expr | Traced | np.ndarray | np.generic | bool | int | float | complex
"""What a wrapper takes for a tensor: an expression, a traced value, an array, or a Python number."""


def is_literal(value: object) -> bool:
    """Whether `value` is a Python number, which is weak; numpy's scalars carry a dtype and are not."""
    return type(value) in (bool, int, float, complex)


def const(value: object, dtype: str | None = None) -> Constant:
    """A constant of an array, a Python number or nested lists of them, optionally converted to `dtype`.

    Raises DTypeError if a Python number does not fit the dtype, or the dtype is not an element type.
    """
    wanted = None if dtype is None else _dtype(dtype)
    if is_literal(value):
        assert isinstance(value, bool | int | float | complex)
        return Constant(literal_array(value, wanted or _default_dtype(value)))
    if isinstance(value, Constant):
        value = value.data
    array = np.asarray(value)
    if wanted is None and not isinstance(value, np.ndarray | np.generic):
        wanted = {"f": FLOAT32, "i": INT32, "c": COMPLEX64}.get(array.dtype.kind)
    return Constant(array if wanted is None else array.astype(wanted.numpy))


def weak_constant(value: object, beside: Type) -> Constant:
    """`value` as a constant; a Python number takes the dtype of the tensor type `beside`."""
    if is_literal(value) and isinstance(beside, TensorType):
        return const(value, beside.dtype)
    return const(value)


def literal_array(value: Literal, dtype: DType) -> np.ndarray:
    """A rank-0 array of a weak Python number. Raises DTypeError when it does not suit or fit `dtype`."""
    if isinstance(value, bool):
        suits = dtype.is_bool
    elif isinstance(value, int):
        suits = not dtype.is_bool
    elif isinstance(value, float):
        suits = dtype.is_inexact
    else:
        suits = dtype.is_complex
    if not suits:
        kind = type(value).__name__
        raise DTypeError(f"the {kind} {value!r} does not suit dtype {dtype}; cast one side explicitly")
    if isinstance(value, int) and dtype.is_int and not dtype.lowest <= value <= dtype.highest:
        raise DTypeError(f"{value} does not fit dtype {dtype}, which holds {dtype.lowest} to {dtype.highest}")
    with np.errstate(over="ignore"):
        try:
            return np.array(value, dtype.numpy)
        except OverflowError:
            raise DTypeError(f"{value} does not fit dtype {dtype}") from None


def _default_dtype(value: Literal) -> DType:
    return {bool: BOOL, int: INT32, float: FLOAT32, complex: COMPLEX64}[type(value)]


def _dtype(name: str) -> DType:
    try:
        return DType(np.dtype(name).name if isinstance(name, np.dtype | type) else name)
    except ValueError as error:
        raise DTypeError(str(error)) from None


def as_expr(value: object) -> Expr:
    """An expression as it is; an array, of numpy or others, or a Python number as a constant.

    Raises CallError for anything else.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, Traced):
        return expr_of(value)
    if is_literal(value) or isinstance(value, list | tuple):
        return const(value)
    if not admissible(value):
        raise CallError(f"expected an expression, an array or a number, found {type(value).__name__}")
    return const(admit(value))
