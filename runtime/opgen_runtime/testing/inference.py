"""The check of an op's type relation: forwards, with symbolic dims, with unknown operands, and backwards."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.errors import LanguageError, TypeInferenceError, UndecidedError
from ..ir import Call, Expr, Var, join_types, substitute
from ..operator import Dim, DimVar, Op, TensorType, TupleType, Type, dim, infer_unknown, is_absent
from ..run.executor import dim_value
from ..transform import infer_type
from .cases import Case, Inferred, case_call, declaration_of

__tracebackhide__ = True  # pytest shows the line of the suite that fails, not what checks it


def check_types(op: Op, case: Case, inferred: Inferred | None = None) -> None:
    """The op's type relation on the types of a case.

    Forwards: the call has a complete type, and the solver finds the same one for variables typed later.  Symbolic: with
    dims as symbols the result's type, with the values put back, is the same (unless the op needs the value of a dim to
    say).  Unknown operands: nothing is inferred wrongly, and nothing crashes.  Backwards: an operand that follows from
    the others and the result is the one of the case, and those of `inferred` (or of the case's own) do follow.
    """
    call, variables = case_call(op, case)
    assert call.checked_type.is_complete, f"{op.name}({case}): the type of the call is not known"
    _check_later_types(call, variables, case)
    _check_symbolic(call, variables, case)
    expected = case.inferred or inferred or Inferred()
    names = [declared.name for declared in declaration_of(op).signature.inputs]
    for position in range(len(call.args)):
        _check_unknown(call, names, (position,), expected.alone, case)
    _check_unknown(call, names, range(len(call.args)), expected.together, case)


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


def _check_unknown(
    call: Call, names: Sequence[str], unknown: Sequence[int], expected: Sequence[str], case: Case
) -> None:
    """The types that follow for unknown operands are those of the case; those that are expected do follow."""
    assert isinstance(call.op, Op)
    types = [arg.checked_type for arg in call.args]
    (relation,) = call.op.op_type.constraints
    found = infer_unknown(relation.function, call.op.name, types, call.checked_type, call.attrs, unknown)
    for position in unknown:
        what = f"{call.op.name}({case}): operand {names[position]!r}"
        if position in found:
            assert _agree(found[position], types[position]), (
                f"{what} was inferred to be {found[position]}, it is {types[position]}"
            )
        else:
            assert names[position] not in expected or is_absent(types[position]), (
                f"{what} does not follow from the others and the result; expected {types[position]}"
            )


def _agree(a: Type, b: Type) -> bool:
    """Equal, up to dims that are not known."""
    try:
        join_types(a, b, "types")
    except TypeInferenceError:
        return False
    return True
