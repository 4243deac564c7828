"""Kinds of types, and types of parts that are of the wrong kind."""

from __future__ import annotations

import pytest

from opgen_runtime.base.errors import TypeInferenceError
from opgen_runtime.operator.types import (
    FuncType,
    IncompleteType,
    Kind,
    TensorType,
    TupleType,
    Type,
    TypeRelation,
    TypeVar,
    check_kind,
)

T = TensorType((2,), "int8")
A = TypeVar("a")
SAME = TypeRelation("Same", lambda *_: True, (A, T), 1)


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        (T, Kind.TYPE),
        (A, Kind.TYPE),
        (IncompleteType("b"), Kind.TYPE),
        (TupleType((T, TupleType((A,)))), Kind.TYPE),
        (FuncType((A,), T, (A,), (SAME,)), Kind.TYPE),
        (SAME, Kind.CONSTRAINT),
    ],
)
def test_kinds(type_: Type, kind: Kind) -> None:
    assert check_kind(type_) is kind


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (
            TupleType((T, SAME)),
            "the field 1 of (Tensor[(2,), int8], Same(a, Tensor[(2,), int8])) is Same(a, ",
        ),
        (TupleType((TupleType((SAME,)),)), "the field of (Same(a, Tensor[(2,), int8]),) is Same(a, "),
        (
            FuncType((SAME,), T),
            "the parameter of fn(Same(a, Tensor[(2,), int8])) -> Tensor[(2,), int8] is Same",
        ),
        (FuncType((T,), SAME), "is Same(a, Tensor[(2,), int8]), of kind constraint; expected kind type"),
        (FuncType((T,), T, (), (T,)), "is Tensor[(2,), int8], of kind type; expected kind constraint"),  # type: ignore[arg-type]
        (FuncType((T,), T, (T,)), "is Tensor[(2,), int8]; expected a TypeVar"),  # type: ignore[arg-type]
        (TypeRelation("Of", lambda *_: True, (SAME,), 1), "the argument of Of(Same(a, "),
        (TupleType(("int8",)), "'int8' is no type; expected a Type"),  # type: ignore[arg-type]
        (None, "None is no type; expected a Type"),
    ],
)
def test_parts_of_another_kind(type_: Type, message: str) -> None:
    with pytest.raises(TypeInferenceError) as error:
        check_kind(type_)
    assert message in str(error.value)
