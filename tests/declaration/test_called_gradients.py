"""Compositions are differentiated as their parts are: by what the ops that they call state of their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops

COMPOSED: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "negated": ("-softplus(-x) + 0 * y", lambda x, y: -ops.softplus(-x) + 0.0 * y),
    "twice": ("softplus(softplus(x)) * y", lambda x, y: ops.softplus(ops.softplus(x)) * y),
    "squared": ("softplus(x) * softplus(x) + y", lambda x, y: ops.softplus(x) * ops.softplus(x) + y),
    "gated": ("softsign(x * y) * softplus(y)", lambda x, y: ops.softsign(x * y) * ops.softplus(y)),
    "rows": ("softmax(x * y, axis=0) * x", lambda x, y: ops.softmax(x * y, axis=0) * x),
    "in_rows": ("log_softmax(softplus(x)) - y", lambda x, y: ops.log_softmax(ops.softplus(x)) - y),
    "clipped": ("clip(x * y, a_min=-1.0, a_max=1.0)", lambda x, y: ops.clip(x * y, a_min=-1.0, a_max=1.0)),
    "lengths": ("hypot(x, exp(y))", lambda x, y: ops.hypot(x, ops.exp(y))),
    "joined": (
        "concatenate((softplus(x), x - softplus(x)), axis=0)",
        lambda x, y: ops.concatenate([ops.softplus(x), x - ops.softplus(x)], axis=0) + 0.0 * y,
    ),
    "sums": ("sum(logaddexp(x, y), axis=1)", lambda x, y: ops.sum(ops.logaddexp(x, y), axis=1)),
    "nested": (
        "log_sigmoid(erfinv(tanh(x) * 0.9)) * y",
        lambda x, y: ops.log_sigmoid(ops.erfinv(ops.tanh(x) * 0.9)) * y,
    ),
    "pooled": (
        "max_pool2d(reshape(softsign(x), newshape=(1, 1, 3, 5)), pool_size=(1, 2)) * sum(y)",
        lambda x, y: ops.max_pool2d(ops.reshape(ops.softsign(x), newshape=(1, 1, 3, 5)), pool_size=(1, 2)) * ops.sum(y),
    ),
    "chosen": ("where(x > 0, ndtr(x), ndtr(y) * x)", lambda x, y: ops.where(x > 0.0, ops.ndtr(x), ops.ndtr(y) * x)),
}  # fmt: skip
DECLARED = """
op: {name}
dtypes: {{T: float}}
inputs: {{x: {{shape: "3, 5", dtype: T}}, y: {{shape: "5", dtype: T}}}}
composed: "{text}"
tests: [{{x: "float64[3, 5]", y: "float64[5]"}}]
"""
LATER = """
op: later
inputs: {x: {shape: N, dtype: float}}
outputs: {out: {shape: N, dtype: x.dtype}, twice: {shape: N, dtype: x.dtype}}
compute: |
  y = ops.softplus(twice)
  half = ops.softplus(x)
  out[i] = -y[i]
  twice[i] = 2 * half[i]
tests: [{x: "float64[3]"}]
"""
CALLER = """
op: caller
inputs: {x: {dtype: float}}
composed: negated(x, sum(x, axis=0)) * 2
tests: [{x: "float64[3, 5]"}]
"""


@pytest.fixture(scope="module")
def declared(package_of: Callable[[str, Sequence[str]], ModuleType]) -> ModuleType:
    texts = [DECLARED.format(name=name, text=text) for name, (text, _) in COMPOSED.items()]
    return package_of("compositions", [*texts, LATER, CALLER])


def gradients(function: Callable[..., Any], *operands: np.ndarray) -> list[np.ndarray]:
    """By each operand, of the results weighted unlike each other."""

    def weighted(*given: Any) -> Any:
        made = function(*given)
        return ops.sum(made * np.cos(np.arange(made.size)).reshape(made.shape).astype(operands[0].dtype))

    argnums = tuple(range(len(operands)))
    return [np.asarray(each) for each in rt.jit(rt.grad(weighted, argnums=argnums))(*operands)]


X = np.array([[-40.0, -2.0, 0.0, 0.0, 0.5], [1.0, 1.0, -1.0, 3.0, -0.25], [30.0, 0.0, 0.75, 2.0, -3.0]])
Y = np.array([0.0, -1.0, 1.0, 2.0, 0.5])


@pytest.mark.parametrize("name", COMPOSED)
def test_as_the_graph_of_its_parts(name: str, declared: ModuleType) -> None:
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-5)):
        x, y = X.astype(dtype), Y.astype(dtype)
        found, wanted = gradients(getattr(declared, name), x, y), gradients(COMPOSED[name][1], x, y)
        for mine, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol)


def test_slopes_where_what_is_computed_bends(declared: ModuleType) -> None:
    x = np.zeros((3, 5))
    (dx, _) = rt.grad(lambda x, y: ops.sum(declared.negated(x, y)), argnums=(0, 1))(x, Y)
    np.testing.assert_array_equal(dx, np.full((3, 5), 0.5))


def test_halves_are_rounded_once(declared: ModuleType) -> None:
    x, y = X.astype(np.float16), Y.astype(np.float16)
    one = np.ones((3, 5), np.float16)
    (dx, _) = rt.vjp(declared.twice, x, y)[1](one)
    wide = x.astype(np.float64)
    inner = np.logaddexp(wide, 0)
    exact = y.astype(np.float64) / ((1 + np.exp(-inner)) * (1 + np.exp(-wide)))
    np.testing.assert_array_equal(dx, exact.astype(np.float16))


def test_calls_that_stand_above_what_they_read(declared: ModuleType) -> None:
    x = np.array([-1.0, 0.0, 2.0])
    found = rt.grad(lambda x: ops.sum(declared.later(x)[0]))(x)
    half = np.logaddexp(x, 0)
    np.testing.assert_allclose(found, -2 / ((1 + np.exp(-2 * half)) * (1 + np.exp(-x))), rtol=1e-14)


def test_compositions_of_compositions(declared: ModuleType) -> None:
    x = np.zeros((3, 5))
    found = rt.grad(lambda x: ops.sum(declared.caller(x)))(x)
    np.testing.assert_array_equal(found, np.full((3, 5), 1.0))
