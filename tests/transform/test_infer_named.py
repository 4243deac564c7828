"""`infer`: types from shapes and dtypes of inputs by name; `build` with both."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import DTypeError, ExecutorError, OpgenError, ShapeError, TypeInferenceError


def network() -> rt.Function:
    data, weight, bias = rt.var("data"), rt.var("weight"), rt.var("bias")
    return rt.Function((data, weight, bias), ops.relu(ops.dense(data, weight, units=3) + bias))


def test_a_function_whole() -> None:
    found = rt.infer(network(), {"data": (2, 4), "bias": (3,)}, {"data": "float16"})
    assert str(found) == (
        "fn (%data: Tensor[(2, 4), float16], %weight: Tensor[(3, 4), float16], %bias: Tensor[(3,), float16])"
        " {\n  %0 = dense(%data, %weight, units=3);\n  %1 = add(%0, %bias);\n  relu(%1)\n}"
    )


def test_modules_and_expressions() -> None:
    module = rt.IRModule.from_expr(network())
    typed = rt.infer(module, {"data": (2, 4), "bias": (3,)}, "float32")
    assert [str(param.type) for param in typed["main"].params] == [
        "Tensor[(2, 4), float32]", "Tensor[(3, 4), float32]", "Tensor[(3,), float32]",
    ]  # fmt: skip
    assert rt.infer(ops.exp(rt.var("x")), {"x": (rt.dim("n"), 3)}, "float64").checked_type.dtype == "float64"


def test_what_is_stated_is_kept_or_narrowed() -> None:
    n = rt.dim("n")
    x = rt.var("x", rt.TensorType((n, 3), "int32"))
    y = rt.var("y")
    found = rt.infer(rt.Function((x, y), ops.add(x, y)), {"x": (2, 3), "y": (3,)}, "int32")
    assert found.checked_type == rt.FuncType(
        (rt.TensorType((2, 3), "int32"), rt.TensorType((3,), "int32")), rt.TensorType((2, 3), "int32")
    )


@pytest.mark.parametrize(
    ("shape", "dtype", "kind", "text"),
    [
        ({"dat": (2, 4)}, None, TypeInferenceError, "the program has no input 'dat'; did you mean 'data'?"),
        ({"data": (2, 4)}, "float32", TypeInferenceError, "types of %bias are not determined"),
        ({"data": (2, 4), "bias": (4,)}, "float32", ShapeError, "add"),
        ({"data": (2, 4), "bias": (3,)}, {"data": "float32", "bias": "int8"}, DTypeError, "add"),
        ({"data": (2, -4)}, None, ShapeError, "a dim must be at least 0, found -4"),
        ({"data": (2, 4)}, {"data": "f32"}, DTypeError, "f32"),
    ],
)
def test_what_cannot_be(shape: object, dtype: object, kind: type[OpgenError], text: str) -> None:
    with pytest.raises(kind) as caught:
        rt.infer(network(), shape, dtype)  # type: ignore[arg-type]
    assert text in str(caught.value)


def test_what_an_input_states_stays() -> None:
    x = rt.var("x", rt.TensorType((2, 3), "float32"))
    with pytest.raises(ShapeError, match=r"input 'x': cannot unify .*: dim 1: 4 against 3"):
        rt.infer(ops.exp(x), {"x": (2, 4)})
    with pytest.raises(DTypeError, match=r"input 'x': cannot unify .*: dtype int8 against float32"):
        rt.infer(ops.exp(x), dtype={"x": "int8"})
    with pytest.raises(TypeInferenceError, match=r"input 'p' is a \(.*\), which has no shape and no dtype"):
        rt.infer(rt.TupleGetItem(rt.var("p", rt.TupleType((x.checked_type,))), 0), {"p": (2,)})


def test_builds() -> None:
    weight = np.ones((3, 4), np.float32)
    built = rt.build(network(), {"weight": weight}, shape={"data": (2, 4), "bias": (3,)}, dtype="float32")
    data, bias = np.full((2, 4), 0.5, np.float32), np.array([1, -9, 0], np.float32)
    np.testing.assert_array_equal(built.run({"data": data, "bias": bias}), [[3, 0, 2], [3, 0, 2]])
    x = rt.var("x")
    open_function = rt.Function((x,), ops.add(x, rt.var("z")))
    with pytest.raises(ExecutorError, match="main reads z, which nothing in it binds; its parameters are: x"):
        rt.build(open_function, shape={"x": (2,)}, dtype="float32")
