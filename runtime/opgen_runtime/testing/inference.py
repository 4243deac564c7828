"""The check of an op's type relation: forwards, with symbolic dims, with unknown operands, and backwards."""

from __future__ import annotations

from collections.abc import Sequence

from ..arith import Dim, dim
from ..arith import Var as DimVar
from ..errors import LanguageError, TypeInferenceError, UndecidedError
from ..executor.bindings import dim_value
from ..ir import Call, Expr, Var, join_types, substitute
from ..registry import Op
from ..transform import infer_type
from ..types import TensorType, TupleType, Type, TypeSolver
from .suite import Case, case_call

__tracebackhide__ = True  # pytest shows the line of the suite that fails, not what checks it


def check_types(op: Op, case: Case) -> None:
    """The op's type relation on the types of a case.

    Forwards: the call has a complete type, and the solver finds the same one for variables typed later.  Symbolic: with
    dims as symbols the result's type, with the values put back, is the same (unless the op needs the value of a dim to
    say).  Unknown operands: nothing is inferred wrongly, and nothing crashes.  Backwards: an operand that follows from
    the others and the result is the one of the case.
    """
    call, variables = case_call(op, case)
    assert call.checked_type.is_complete, f"{op.name}({case}): the type of the call is not known"
    _check_later_types(call, variables, case)
    _check_symbolic(call, variables, case)
    for position in range(len(call.args)):
        _check_unknown(call, {position}, case)
    _check_unknown(call, set(range(len(call.args))), case)


def _check_later_types(call: Call, variables: Sequence[Var], case: Case) -> None:
    untyped: dict[Var, Var] = {var: Var(var.name_hint) for var in variables}
    open_call = substitute(call, dict(untyped))
    assert not variables or not open_call.checked_type.is_complete
    found = infer_type(open_call, {untyped[var]: var.checked_type for var in variables}).checked_type
    assert found == call.checked_type, f"{case}: inferred later {found}, at construction {call.checked_type}"


def _check_symbolic(call: Call, variables: Sequence[Var], case: Case) -> None:
    symbols: dict[int, DimVar] = {}
    values: dict[DimVar, int] = {}
    typed: dict[Var, Expr] = {}
    for var in variables:
        own = var.checked_type
        assert isinstance(own, TensorType)
        shape: list[Dim] = []
        for extent in own.concrete_shape:
            if extent > 1:
                symbol = symbols.setdefault(extent, dim(f"n{extent}"))
                values[symbol] = extent
                shape.append(symbol)
            else:
                shape.append(extent)
        typed[var] = Var(var.name_hint, TensorType(shape, own.dtype))
    try:
        found = substitute(call, typed).checked_type
    except UndecidedError:
        return  # the op needs the value of a dim to say what its result is
    except LanguageError as error:
        if error.code != "stage":
            raise
        return  # likewise
    concrete = _with_values(found, values)
    assert _agree(concrete, call.checked_type), (
        f"{case}: with symbolic dims the type is {found}, which is {concrete} here; expected {call.checked_type}"
    )


def _with_values(type_: Type, values: dict[DimVar, int]) -> Type:
    if isinstance(type_, TupleType):
        return TupleType(tuple([_with_values(field, values) for field in type_.fields]))
    assert isinstance(type_, TensorType)
    known = [dim_value(d, values) for d in type_.shape]
    return TensorType([d if k is None else k for d, k in zip(type_.shape, known, strict=True)], type_.dtype)


def _check_unknown(call: Call, unknown: set[int], case: Case) -> None:
    assert isinstance(call.op, Op)
    solver = TypeSolver()
    types = [arg.checked_type for arg in call.args]
    open_types: list[Type] = [
        solver.fresh() if k in unknown and _is_present(t) else t for k, t in enumerate(types)
    ]
    (relation,) = call.op.op_type.constraints
    solver.add_relation(
        relation.function, (*open_types, call.checked_type), len(types), call.attrs, op_name=call.op.name
    )
    solver.solve()
    for position, (given, expected) in enumerate(zip(open_types, types, strict=True)):
        found = solver.resolve(given)
        if found.is_complete:
            assert _agree(found, expected), (
                f"{call.op.name}({case}): operand {position} was inferred to be {found}, it is {expected}"
            )


def _is_present(type_: Type) -> bool:
    """Whether an operand is there: an optional one that is absent has the type of the empty tuple."""
    return not (isinstance(type_, TupleType) and not type_.fields)


def _agree(a: Type, b: Type) -> bool:
    """Equal, up to dims that are not known."""
    try:
        join_types(a, b, "types")
    except TypeInferenceError:
        return False
    return True
