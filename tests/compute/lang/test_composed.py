"""The types of compositions of ops, told from those of the operands."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import LanguageError, UndecidedError
from opgen_runtime.compute import lang
from opgen_runtime.compute.lang.composed import ResultType
from opgen_runtime.declaration import called
from opgen_runtime.operator import Assumption, TensorType, dim


def test_operators_broadcast_and_keep_the_dtype() -> None:
    x, y = TensorType((2, 1), "float32"), TensorType((3,), "float32")
    assert lang.operator_type(x, 2.0, y).type == TensorType((2, 3), "float32")
    assert lang.predicate_type(x, y).type == TensorType((2, 3), "bool")
    with pytest.raises(LanguageError, match="float32 and int8 meet in an operator"):
        lang.operator_type(x, TensorType((), "int8"))
    with pytest.raises(
        LanguageError, match="an operand of an operator is text 'no', expected a tensor or a number"
    ):
        lang.operator_type(x, "no")


def test_an_op_gives_what_a_call_of_it_gives() -> None:
    x = TensorType((2, 3), "float16")
    total = lang.result_type(called("sum"), 1, lang.operator_type(x, x), axis=0)
    assert (total.shape, total.ndim, total.dtype, total.holds) == ((3,), 1, "float16", True)
    with pytest.raises(LanguageError, match="`split` gives 3 results here, not 1"):
        lang.result_type(called("split"), 1, x, indices_or_sections=3, axis=1)


def test_numbers_are_scalars_of_the_dtype_that_they_meet() -> None:
    chosen, x = TensorType((2,), "bool"), TensorType((3, 1), "int8")
    assert lang.result_type(called("where"), 1, chosen, 0, x).type == TensorType((3, 2), "int8")
    with pytest.raises(LanguageError, match="operand 1 of `where` is int 0, expected a tensor"):
        lang.result_type(called("where"), 1, chosen, 0, 1)


def test_what_ops_ask_of_symbols_is_asked_of_the_whole() -> None:
    n, m = dim("n"), dim("m")
    made = lang.result_type(called("dense"), 1, TensorType((2, n), "float32"), TensorType((4, m), "float32"))
    twice = lang.operator_type(made, made)
    assert str(twice.holds) == "n == m"
    undecided = ResultType(made.type, (Assumption("what no shape decides"),))
    with pytest.raises(UndecidedError, match="what no shape decides"):
        _ = undecided.holds


def test_a_composed_op_has_symbolic_types_and_gradients() -> None:
    n = dim("n")
    x, y = rt.var("x", rt.TensorType((n, 3), "float32")), rt.var("y", rt.TensorType((3,), "float32"))
    assert ops.mse_loss(x, y).checked_type == TensorType((), "float32")
    assert ops.mse_loss(x, y, reduction="none").checked_type == TensorType((n, 3), "float32")
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.ones(3, "float32")
    found = rt.jit(rt.grad(lambda a, b: ops.mse_loss(a, b)))(a, b)
    np.testing.assert_allclose(
        found.numpy() if hasattr(found, "numpy") else found, 2 * (a - b) / 6, rtol=1e-6
    )
