"""Trees of arguments, results and cotangents: what belongs together, Python floats, and what is captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import CallError

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(2, 3))
SINGLE = X.astype("float32")


def test_entries_of_dicts_belong_together_by_name() -> None:
    value, pull = rt.vjp(lambda x: {"b": x * 2.0, "a": [x * 3.0]}, X)
    np.testing.assert_allclose(pull({"a": [X], "b": Y})[0], 3 * X + 2 * Y)
    np.testing.assert_allclose(value["a"][0], 3 * X)
    both = lambda p: p["a"] * 2.0 + p["b"] * 3.0  # noqa: E731
    _, change = rt.jvp(both, ({"a": X, "b": X},), ({"b": Y, "a": X},))
    np.testing.assert_allclose(change, 2 * X + 3 * Y)
    turned = rt.while_loop(
        lambda s: s["n"] < 2,
        lambda s: {"x": s["x"] + s["y"], "y": s["y"], "n": s["n"] + 1},
        {"n": 0, "y": X, "x": Y},
    )
    np.testing.assert_allclose(turned["x"], Y + 2 * X)


def test_a_rule_has_the_trees_of_the_function() -> None:
    @rt.custom_vjp
    def scaled(p: Any, how: str, times: int) -> Any:
        y = p["a"] * p["b"] if how == "times" else p["a"]
        return {"out": y, "all": [y for _ in range(times)]}

    scaled.defvjp(
        lambda p, how, times: (scaled(p, how, times), p),
        lambda p, g: ({"b": g["all"][0] * 7.0, "a": g["out"] * p["b"]}, None, None),
    )
    loss = lambda p: (scaled(p, "times", 2)["out"] * X).sum() + scaled(p, "times", 2)["all"][0].sum()  # noqa: E731
    found = rt.grad(loss)({"a": X, "b": Y})
    np.testing.assert_allclose(found["a"], X * Y)
    np.testing.assert_allclose(found["b"], np.full_like(X, 7.0))


def test_floats_of_python_have_one_tangent_each() -> None:
    np.testing.assert_allclose(rt.jvp(lambda a, b: a * b * b, (2.0, 3.0), (1.0, 10.0))[1], 129.0)
    _, change = rt.jvp(lambda a, x, y: (a * x).sum() + (a * y).sum(), (2.0, SINGLE, X), (1.0, SINGLE, X))
    np.testing.assert_allclose(change, 6 * X.sum(), rtol=1e-6)  # in two dtypes
    np.testing.assert_allclose(rt.jvp(lambda a, x: x * 1.0, (2.0, X), (1.0, Y))[1], Y)
    assert rt.jit(lambda x, a: x * rt.stop_gradient(a))(SINGLE, 2.0).dtype == "float32"


def test_what_is_given_beside_the_value() -> None:
    (value, (same, count)), slope = rt.value_and_grad(lambda x: (x * x, (x, 3)), has_aux=True)(2.0)
    assert (value, same, count, slope) == (4.0, 2.0, 3, 4.0)
    value, pull, aux = rt.vjp(lambda x: (x * 2.0, {"sum": x.sum()}), X, has_aux=True)
    np.testing.assert_allclose(value, 2 * X)
    np.testing.assert_allclose(pull(Y)[0], 2 * Y)
    np.testing.assert_allclose(aux["sum"], X.sum())
    value, change, aux = rt.jvp(lambda x: (x * 2.0, [x.sum()]), (X,), (Y,), has_aux=True)
    np.testing.assert_allclose((change, aux[0] + 0 * Y), (2 * Y, np.full_like(Y, X.sum())))


def _whole(x: Any) -> Any:
    def product(p: Any) -> Any:
        return (x * p * p).sum()

    return (
        rt.grad(product)(Y).sum()
        + rt.vjp(lambda y: x * y, Y)[1](Y)[0].sum()
        + rt.jvp(lambda y: x * y, (Y,), (Y,))[1].sum()
        + rt.jit(lambda y, n: {"sum": (x * y["b"][0]).sum() * n})({"b": [Y]}, 3)["sum"]
    )


def test_functions_of_arrays_read_values_of_the_program_around() -> None:
    np.testing.assert_allclose(rt.grad(_whole)(X), 7 * Y)
    np.testing.assert_allclose(rt.jit(_whole)(X), (7 * X * Y).sum())
    stepped = rt.jit(
        lambda x: rt.while_loop(
            lambda s: s[0] < 2, lambda s: (s[0] + 1, rt.jit(lambda y: ops.add(s[1], y))(Y)), (0, x)
        )
    )
    np.testing.assert_allclose(stepped(X)[1], X + 2 * Y)


def _of_rule(backward: Callable[..., Any]) -> Any:
    @rt.custom_vjp
    def doubled(p: Any) -> Any:
        return p["a"] * 2.0

    doubled.defvjp(lambda p: (doubled(p), None), backward)
    return rt.grad(lambda p: doubled(p).sum())({"a": X, "b": Y})


@pytest.mark.parametrize(
    ("attempt", "text"),
    [
        (lambda: rt.vjp(lambda x: {"b": x}, X)[1]([X]),
         r"vjp of .*: the cotangent has values at \[0\], expected \['b'\]"),
        (lambda: rt.vjp(lambda x: x * 2.0, X)[1]((X,)), r"the cotangent has values at \[0\], expected the top"),
        (lambda: rt.jvp(lambda x: x, (X,), ([X],)),
         r"the tangent of the arguments has values at \[0\]\[0\], expected \[0\]"),
        (lambda: rt.jvp(lambda x: x, (X,), (X[0],)), r"jvp of .*: a tangent of shape \(3,\), expected \(2, 3\)"),
        (lambda: rt.vjp(lambda x: x, X, has_aux=True), "vjp of .* with has_aux: expected .* found Tracer"),
        (lambda: _of_rule(lambda _, g: ({"a": g},)), r"argument 0 has values at \['a'\], expected \['a'\], \['b'\]"),
        (lambda: _of_rule(lambda _, g: ({"a": g.sum(), "b": None},)),
         r"a cotangent for argument 0\['a'\] of shape \(\), expected \(2, 3\)"),
        (lambda: _of_rule(lambda _, g: (g, g)), "2 cotangents for 1 arguments"),
        (lambda: rt.grad(lambda x, y: (x * y).sum(), (0, -2))(X, Y),
         r"argnums is \(0, -2\), which names an argument twice"),
    ],
)  # fmt: skip
def test_what_does_not_belong_together_is_refused(attempt: Callable[[], Any], text: str) -> None:
    with pytest.raises(CallError, match=text):
        attempt()
