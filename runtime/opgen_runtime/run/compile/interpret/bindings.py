"""Values for the free variables of a program: checked against their types before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ....base.arith import evaluate_scalar
from ....base.arith.expr import AnyDim, Dim
from ....base.arith.expr import Expr as DimExpr
from ....base.arith.expr import Var as DimVar
from ....base.errors import CallError, DTypeError, ExecutorError, LoweringError
from ....base.vocabulary import DTYPES
from ....declaration import array_type
from ....ir import Var, admit, is_literal, literal_array
from ....operator import TensorType, TupleType, Type


def as_array(var: Var, value: object) -> np.ndarray:
    """The array for `var`, of numpy or of others (`ir.admit`); a Python number takes the variable's dtype.

    Raises ExecutorError for what is no array, and for a dtype that differs: values are never converted silently.
    """
    expected = var.checked_type
    if is_literal(value) and isinstance(expected, TensorType):
        assert isinstance(value, bool | int | float)
        try:
            array = literal_array(value, expected.dtype)
        except DTypeError as error:
            raise ExecutorError(f"variable {var.name_hint!r}: {error}") from None
    elif isinstance(value, list) or is_literal(value):
        array = np.asarray(value)
    else:
        try:
            array = admit(value, f"variable {var.name_hint!r}")
        except CallError as error:
            raise ExecutorError(str(error)) from None
    if array.dtype.name not in DTYPES:
        raise ExecutorError(f"variable {var.name_hint!r}: dtype {array.dtype} is no element type")
    return array


def bind(
    variables: Sequence[Var], values: Mapping[Var, object]
) -> tuple[dict[Var, np.ndarray], dict[DimVar, int]]:
    """Arrays for all `variables`, and the values of the symbolic dims in their types.

    Raises ExecutorError naming the variable, what is expected and what was found: a variable without a value, a
    value without a variable, another dtype, rank or dim, or two values for one symbolic dim.
    """
    for var in values:
        if var not in variables:
            named = ", ".join([v.name_hint for v in variables]) or "none"
            raise ExecutorError(f"{_name(var)} is not a free variable of the program; these are: {named}")
    arrays: dict[Var, np.ndarray] = {}
    dims: dict[DimVar, tuple[int, str]] = {}
    equations: list[tuple[DimExpr, int, str]] = []
    for var in variables:
        if var not in values:
            raise ExecutorError(f"variable {var.name_hint!r} has no value; expected {var.checked_type}")
        array = arrays[var] = as_array(var, values[var])
        expected = var.checked_type
        if isinstance(expected, TupleType):
            raise ExecutorError(
                f"variable {var.name_hint!r} is a tuple; pass its tensors as variables of their own"
            )
        if not isinstance(expected, TensorType):
            continue
        if array.dtype.name != expected.dtype or array.ndim != expected.ndim:
            raise _mismatch(var, array)
        for axis, (dim, extent) in enumerate(zip(expected.shape, array.shape, strict=True)):
            _bind_dim(var, axis, dim, extent, dims, equations, array)
    values_of = {dim: extent for dim, (extent, _) in dims.items()}
    for expression, extent, place in equations:
        found = dim_value(expression, values_of)
        if found is not None and found != extent:
            raise ExecutorError(f"{place} has extent {extent}, but {expression} is {found}")
    return arrays, values_of


def check_value(what: str, declared: Type | None, value: object, dims: dict[DimVar, int]) -> None:
    """Checks arrays against the type that a program declares; dims without a value get that which they have here.

    Raises ExecutorError.
    """
    if isinstance(declared, TupleType) and isinstance(value, tuple):
        for k, (field, part) in enumerate(zip(declared.fields, value, strict=True)):
            check_value(f"field {k} of {what}", field, part, dims)
    elif isinstance(declared, TensorType) and isinstance(value, np.ndarray):
        for dim, extent in zip(declared.shape, value.shape, strict=True):
            if isinstance(dim, DimVar):
                dims.setdefault(dim, extent)
            expected = None if isinstance(dim, AnyDim) else dim_value(dim, dims)
            if expected is not None and expected != extent:
                raise ExecutorError(f"{what} is declared to be {declared}, found {array_type(value)}")


def _bind_dim(
    var: Var,
    axis: int,
    dim: Dim,
    extent: int,
    dims: dict[DimVar, tuple[int, str]],
    equations: list[tuple[DimExpr, int, str]],
    array: np.ndarray,
) -> None:
    place = f"axis {axis} of variable {var.name_hint!r}"
    if isinstance(dim, int):
        if dim != extent:
            raise _mismatch(var, array)
    elif isinstance(dim, DimVar):
        known = dims.setdefault(dim, (extent, place))
        if known[0] != extent:
            raise ExecutorError(
                f"{place} has extent {extent}, but dim {dim.name!r} is {known[0]} by {known[1]}"
            )
    elif not isinstance(dim, AnyDim):
        equations.append((dim, extent, place))


def dim_value(dim: Dim, values: Mapping[DimVar, int]) -> int | None:
    """The value of a dim, None if it holds a symbol without one."""
    if isinstance(dim, int):
        return dim
    try:
        return int(evaluate_scalar(dim, dict(values)))
    except LoweringError:
        return None


def concrete_types(arrays: Mapping[Var, np.ndarray]) -> dict[Var, Type]:
    """The variables whose types the arrays narrow, with the arrays' types."""
    narrowed: dict[Var, Type] = {}
    for var, array in arrays.items():
        found = array_type(array)
        if var.checked_type != found:
            narrowed[var] = found
    return narrowed


def _mismatch(var: Var, array: np.ndarray) -> ExecutorError:
    return ExecutorError(
        f"variable {var.name_hint!r}: expected {var.checked_type}, found {array_type(array)}"
    )


def _name(var: object) -> str:
    return f"variable {var.name_hint!r}" if isinstance(var, Var) else f"a {type(var).__name__}"
