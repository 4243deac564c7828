"""Reverse mode over the graph, and its face: gradients against differences."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import CallError, OpgenError, PassError, ShapeError, TypeInferenceError
from opgen_runtime.ir import Call, If, Let, Tuple, Var, const, expr_of, post_order
from opgen_runtime.operator.registry import Op
from opgen_runtime.transform.gradient import pull

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(5, 6)), RANDOM.normal(size=(5, 3))
PARAMETERS = {
    "w": [RANDOM.normal(size=(6, 8)), RANDOM.normal(size=(8, 3))],
    "b": [RANDOM.normal(size=8), RANDOM.normal(size=3)],
}


def loss(p: Any, x: Any, y: Any) -> Any:
    hidden = np.tanh(x @ p["w"][0] + p["b"][0])
    scores = hidden @ p["w"][1] + p["b"][1]
    return ops.mean(ops.square(ops.softmax(scores) - y))


def differences(function: Callable[[Any], Any], x: Any, direction: Any) -> float:
    h = 1e-6
    return float((function(x + h * direction) - function(x - h * direction)) / (2 * h))


def agrees(function: Callable[[Any], Any], x: Any, gradient: Any) -> None:
    direction = RANDOM.normal(size=x.shape)
    np.testing.assert_allclose(
        (gradient * direction).sum(), differences(rt.jit(function), x, direction), rtol=1e-6, atol=1e-8
    )


def test_the_loss_of_two_layers() -> None:
    value, found = rt.value_and_grad(loss)(PARAMETERS, X, Y)
    np.testing.assert_allclose(value, rt.jit(loss)(PARAMETERS, X, Y))
    assert type(found) is dict
    assert type(found["w"]) is list
    for name in PARAMETERS:
        for k in range(2):

            def of_one(leaf: Any, name: str = name, k: int = k) -> Any:
                changed = {key: list(each) for key, each in PARAMETERS.items()}
                changed[name][k] = leaf
                return loss(changed, X, Y)

            agrees(of_one, PARAMETERS[name][k], found[name][k])


def test_several_arguments_give_a_tuple() -> None:
    dx, dy = rt.grad(lambda x, y: (x * y).sum(), argnums=(0, -1))(X, X + 1)
    np.testing.assert_allclose(dx, X + 1)
    np.testing.assert_allclose(dy, X)


def test_more_results_beside_the_value() -> None:
    function = lambda x: ((x * x).sum(), {"twice": x * 2.0})  # noqa: E731
    (value, aux), found = rt.value_and_grad(function, has_aux=True)(X)
    np.testing.assert_allclose(value, (X * X).sum())
    np.testing.assert_allclose(aux["twice"], 2 * X)
    np.testing.assert_allclose(found, 2 * X)
    np.testing.assert_allclose(rt.grad(function, has_aux=True)(X)[0], 2 * X)


def test_gradients_are_parts_of_programs_and_of_gradients() -> None:
    step = rt.jit(lambda x: x - 0.5 * rt.grad(lambda x: (x * x).sum())(x))
    np.testing.assert_allclose(step(X), np.zeros_like(X))
    second = rt.grad(lambda x: rt.grad(lambda x: np.sum(np.sin(x) * x))(x).sum())
    np.testing.assert_allclose(second(X), 2 * np.cos(X) - X * np.sin(X))
    third = rt.grad(lambda x: second(x).sum())
    np.testing.assert_allclose(third(X), -3 * np.sin(X) - X * np.cos(X))


def test_a_python_float_is_an_argument() -> None:
    assert rt.grad(lambda x: x * x)(3.0) == 6.0
    assert rt.grad(lambda x, a: (x * a).sum())(2.0, X.astype("float32")) == pytest.approx(X.sum(), rel=1e-5)


def test_vjp_gives_value_and_pull() -> None:
    a, b = X, RANDOM.normal(size=(6, 4))
    value, pulled = rt.vjp(lambda a, b: a @ b, a, b)
    cotangent = RANDOM.normal(size=value.shape)
    da, db = pulled(cotangent)
    np.testing.assert_allclose(da, cotangent @ b.T)
    np.testing.assert_allclose(db, a.T @ cotangent)
    with pytest.raises(CallError, match=r"a cotangent of shape \(2,\), expected \(5, 4\)"):
        pulled(np.ones(2))


def test_jvp_is_the_change_along_tangents() -> None:
    t = RANDOM.normal(size=X.shape)
    value, change = rt.jvp(lambda x: np.exp(x) * x, (X,), (t,))
    np.testing.assert_allclose(value, np.exp(X) * X)
    np.testing.assert_allclose(change, np.exp(X) * (1 + X) * t)
    _, change = rt.jvp(lambda x, w: ops.softmax(x @ w), (X, PARAMETERS["w"][0]), (t, np.zeros((6, 8))))
    h = 1e-6
    f = rt.jit(lambda x, w: ops.softmax(x @ w))
    w = PARAMETERS["w"][0]
    np.testing.assert_allclose(change, (f(X + h * t, w) - f(X - h * t, w)) / (2 * h), atol=1e-8)


def test_what_several_gradients_need_is_computed_once() -> None:
    counts: list[Counter[str]] = []

    def attention(q: Any, k: Any, v: Any) -> Any:
        return ops.softmax(q @ np.swapaxes(k, -1, -2)) @ v

    def gradients(q: Any, k: Any, v: Any, g: Any) -> Any:
        found = rt.vjp(attention, q, k, v)[1](g)
        nodes = post_order(Tuple(tuple([expr_of(each) for each in found])))
        counts.append(Counter([n.op.name for n in nodes if isinstance(n, Call) and isinstance(n.op, Op)]))
        return found

    rt.jit(gradients)(X, X, X, X)
    assert {name: counts[0][name] for name in ("matmul", "softmax", "vjp.matmul")} == {
        "matmul": 1,
        "softmax": 1,
        "vjp.matmul": 4,
    }


def test_what_is_stopped_is_a_constant() -> None:
    np.testing.assert_allclose(rt.grad(lambda x: (rt.stop_gradient(x) * x).sum())(X), X)
    np.testing.assert_allclose(rt.jit(lambda x: rt.stop_gradient({"x": x})["x"] * 2.0)(X), 2 * X)
    np.testing.assert_allclose(rt.stop_gradient(X), X)


def test_a_gradient_of_ones_own() -> None:
    @rt.custom_vjp
    def clipped(x: Any, limit: Any) -> Any:
        return x * 1.0

    with pytest.raises(CallError, match=r"call clipped.defvjp\(...\)"):
        clipped(X, 1.0)
    clipped.defvjp(
        lambda x, limit: (clipped(x, limit), limit), lambda limit, g: (np.clip(g, -limit, limit), None)
    )
    np.testing.assert_allclose(clipped(X, 1.0), X)
    bounded = rt.grad(lambda x, limit: (clipped(x, limit) * 10.0).sum())
    np.testing.assert_allclose(bounded(X, np.float64(3.0)), np.full_like(X, 3.0))
    np.testing.assert_allclose(rt.grad(lambda limit: (clipped(X, limit) * 10.0).sum())(np.float64(3.0)), 0.0)


@pytest.mark.parametrize(
    ("attempt", "text"),
    [
        (
            lambda: rt.grad(lambda x: x)(X),
            r"the result is Tensor\[\(5, 6\), float64\]; rt.grad needs one float",
        ),
        (lambda: rt.grad(lambda x: (x * 1.0).sum())(np.arange(3)), r"argument 0 is Tensor\[\(3,\), int64\]"),
        (
            lambda: rt.grad(lambda x: x)(3),
            "argument 0 is int, and only floats and complex numbers have a gradient",
        ),
        (lambda: rt.grad(lambda x: x, argnums=2)(X), "argnums is 2, found 1 arguments"),
        (
            lambda: rt.grad(lambda x: x, argnums="x")(X),
            "argnums is 'x', expected a position among the arguments",
        ),  # type: ignore[arg-type]
        (lambda: rt.grad(lambda x: x, argnums=())(X), r"argnums is \(\), expected a position"),
        (
            lambda: rt.grad(lambda x: (x.sum(), x))(X),
            "the result is a tuple; .* more may be given with has_aux=True",
        ),
        (lambda: rt.grad(lambda p: p["a"][1].sum())({"a": [X, np.arange(2)]}), r"argument 0\['a'\]\[1\] is"),
    ],
)
def test_what_has_no_gradient_says_what_to_write(attempt: Callable[[], Any], text: str) -> None:
    with pytest.raises(CallError, match=text):
        attempt()


def test_an_op_without_a_gradient_is_named() -> None:
    with pytest.raises(PassError, match="non_max_suppression has no gradient for data"):
        rt.grad(
            lambda x: ops.non_max_suppression(x, np.array([3], "int32"), np.zeros((1, 3), "int32"))[0].sum()
        )(RANDOM.uniform(size=(1, 3, 6)))


def test_bindings_functions_and_branches() -> None:
    x, y = rt.var("x", rt.TensorType((3,), "float64")), rt.var("y", rt.TensorType((3,), "float64"))
    bound = Var("t")
    shared = ops.exp(x)
    inner = rt.Function((y,), ops.multiply(y, y))
    flag = rt.var("flag", rt.TensorType((), "bool"))
    body = Let(
        bound := Var("t", x.checked_type),
        ops.sin(shared),
        If(flag, ops.multiply(bound, shared), inner(ops.add(bound, bound))),
    )
    g = rt.var("g", rt.TensorType((3,), "float64"))
    (found,) = pull([body], [g], [x])
    assert found is not None
    gradient = rt.Function((x, flag, g), found)
    value = RANDOM.normal(size=3)
    cotangent = RANDOM.normal(size=3)
    e = np.exp(value)
    for chosen, wanted in (
        (True, e * (np.cos(e) * e + np.sin(e))),
        (False, 8 * np.sin(e) * np.cos(e) * e),
    ):
        run = rt.create_executor("graph").evaluate(gradient)
        np.testing.assert_allclose(run(value, np.asarray(chosen), cotangent).numpy(), wanted * cotangent)


def test_results_of_which_some_are_used() -> None:
    found = rt.grad(lambda x: (ops.split(x, indices_or_sections=3)[1] ** 2.0).sum())(X[0])
    np.testing.assert_allclose(found, np.where([0, 0, 1, 1, 0, 0], 2 * X[0], 0.0))
    found = rt.grad(lambda x: ops.concatenate([x, x * 2.0]).sum())(X[0])
    np.testing.assert_allclose(found, np.full(6, 3.0))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("stride", [2, 3, 4, 8])
def test_halves_that_are_stored_one_by_one_leave_their_neighbours(dtype: str, stride: int) -> None:
    """Rows of `stride` lanes of a reshape's gradient, each stored in a piece of its own."""
    kind = const(0.0, dtype).data.dtype
    x, g = np.zeros((2, 3, 4 * stride), kind), RANDOM.normal(size=(2, 3, 4, stride)).astype(kind)
    (found,) = rt.vjp(lambda x: x.reshape((2, 3, 4, stride)), x)[1](g)
    np.testing.assert_array_equal(found, g.reshape((2, 3, 4 * stride)))


def test_results_of_data_dependent_size() -> None:
    x = np.array([1.0, -2.0, 3.0])
    found = rt.grad(lambda x: ops.sum(ops.square(ops.masked_select(x, x > 0.0))))(x)
    np.testing.assert_array_equal(found, [2.0, 0.0, 6.0])


def test_cotangents_and_changes_of_data_dependent_size() -> None:
    def squares(x: Any) -> Any:
        return ops.square(ops.masked_select(x, x > 0.0))

    x = np.array([1.0, -2.0, 3.0])
    (pulled,) = rt.vjp(squares, x)[1](np.array([10.0, 100.0]))
    np.testing.assert_array_equal(pulled, [20.0, 0.0, 600.0])
    value, change = rt.jvp(squares, (x,), (np.array([10.0, 1.0, 100.0]),))
    np.testing.assert_array_equal(value, [1.0, 9.0])
    np.testing.assert_array_equal(change, [20.0, 600.0])
    traced = rt.jit(lambda x: rt.vjp(squares, x)[1](squares(x))[0])
    np.testing.assert_array_equal(traced(x), [2.0, 0.0, 54.0])


def test_what_does_not_depend_has_a_change_of_zeros_of_data_dependent_size() -> None:
    x = np.array([1.0, -2.0, 3.0])
    _, (change, other) = rt.jvp(
        lambda a, b: [ops.masked_select(a, a > 0.0), rt.stop_gradient(ops.masked_select(b, b > 0.0))],
        (x, x),
        (x, x),
    )
    np.testing.assert_array_equal(change, [1.0, 3.0])
    np.testing.assert_array_equal(other, [0.0, 0.0])


@pytest.mark.parametrize("wrong", [np.ones(1), np.ones(3), np.ones((2, 1)), np.ones(0)])
def test_a_cotangent_of_another_size_than_the_data_gives_is_refused(wrong: np.ndarray) -> None:
    pull = rt.vjp(lambda x: ops.masked_select(x, x > 0.0), np.array([1.0, -2.0, 3.0]))[1]
    with pytest.raises(OpgenError, match="shape"):
        pull(wrong)


def vjp_softmax() -> rt.Function:
    from opgen_runtime.declaration.gradient import vjp_attrs

    x = rt.var("x", rt.TensorType((2, 3), "float32"))
    g = rt.var("g", rt.TensorType((2, 3), "float32"))
    attrs = vjp_attrs(Op.get("softmax").get_attr("declaration"), ops.softmax(x).attrs, "data")
    return rt.Function((x, g), Call(Op.get("vjp.softmax"), (x, Tuple(()), g), attrs))


def test_derived_ops_are_ops() -> None:
    function = vjp_softmax()
    text = rt.to_text(function)
    assert 'vjp.softmax(%x, (), %g, wrt="data")' in text
    program = (
        "import sys, numpy as np, opgen_runtime as rt; f = rt.parse_expr(sys.argv[1]);"
        "print(rt.build(f).run([np.zeros((2, 3), 'f'), np.eye(2, 3, dtype='f')]).astype(float).round(3).tolist())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program, text], capture_output=True, text=True, check=True
    )
    assert printed.stdout == "[[0.222, -0.111, -0.111], [-0.111, 0.222, -0.111]]\n"
    attrs = function.body.attrs  # type: ignore[attr-defined]  # a call
    assert pickle.loads(pickle.dumps(attrs)) == attrs
    assert rt.structural_equal(rt.parse_expr(text), function)


def test_derived_ops_say_what_is_wrong() -> None:
    x = rt.var("x", rt.TensorType((2, 3), "float32"))
    g = rt.var("g", rt.TensorType((3,), "float32"))
    op = Op.get("vjp.exp")
    attrs = op.get_attr("declaration").attrs
    with pytest.raises(ShapeError, match=r"the cotangent of out is Tensor\[\(3,\), float32\]"):
        Call(op, (x, Tuple(()), g), attrs(wrt="data"))
    with pytest.raises(TypeInferenceError, match="'wrt' is 'weight', expected one of data"):
        Call(op, (x, Tuple(()), x), attrs(wrt="weight"))


def test_operands_that_are_not_read_are_not_kept() -> None:
    x = rt.var("x", rt.TensorType((3,), "float32"))
    g = rt.var("g", rt.TensorType((3,), "float32"))
    (found,) = pull([ops.add(ops.sin(x), const(np.ones(3, "float32")))], [g], [x])
    assert str(found).count("sin") == 1  # its derived op alone


@pytest.mark.parametrize("steps", [1, 2])
def test_gradients_of_gradients_of_recurrences(steps: int) -> None:
    x, direction = RANDOM.normal(size=(2, steps, 2, 3))
    w, r = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(4, 4))
    slope = rt.grad(lambda x: (ops.rnn(x, w, r)[0] ** 2.0).sum())
    bend = rt.grad(lambda x: (slope(x) * direction).sum())
    agrees(lambda x: (slope(x) * direction).sum(), x, bend(x))
