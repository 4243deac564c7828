"""Questions about programs."""

from __future__ import annotations

import pytest

from opgen_runtime import ir, ops
from opgen_runtime.operator.types import FuncType, TensorType, TupleType, TypeVar

F = TensorType((2,), "float32")


def test_variables() -> None:
    x, y, z, unused = (ir.Var(name, F) for name in ("x", "y", "z", "unused"))
    inner = ir.Function((z,), ops.add(z, y))
    program = ir.Let(x, ops.exp(y), ir.Tuple((inner(x), ir.Function((unused,), x))))
    assert ir.all_vars(program) == [x, y, z, unused]
    assert ir.bound_vars(program) == [z, unused, x]
    assert ir.free_vars(program) == [y]


def test_type_parameters() -> None:
    a, b, c = TypeVar("a"), TypeVar("b"), TypeVar("c")
    generic = FuncType((a, TupleType((b,))), c, (a,))
    assert ir.all_type_vars(generic) == [a, b, c]
    assert ir.bound_type_vars(generic) == [a]
    assert ir.free_type_vars(generic) == [b, c]
    x, f = ir.Var("x", a), ir.Var("f", FuncType((a,), b))
    program = ir.Function((x,), ir.Tuple((x, f)), None, (a,))
    assert ir.all_type_vars(program) == [a, b]
    assert ir.bound_type_vars(program) == [a]
    assert ir.free_type_vars(program) == [b]
    assert ir.free_type_vars(F) == []


def test_dtypes() -> None:
    x = ir.Var("x", F)
    program = ir.Tuple((ops.cast(x, dtype="int8"), ops.greater(x, ir.const(0.0)), ir.Var("open")))
    assert {str(dtype) for dtype in ir.all_dtypes(program)} == {"float32", "int8", "bool"}


@pytest.mark.parametrize(
    ("expr", "is_constant"),
    [
        (ir.const(1), True),
        (ir.Tuple((ir.const(1), ir.Tuple((ir.const(2.0), ir.const(True))))), True),
        (ir.Tuple(()), True),
        (ir.Tuple((ir.const(1), ir.Var("x", F))), False),
        (ops.exp(ir.const(1.0)), False),
        (ir.TupleGetItem(ir.Tuple((ir.const(1),)), 0), False),
    ],
)
def test_constants(expr: ir.Expr, is_constant: bool) -> None:
    assert ir.check_constant(expr) is is_constant
