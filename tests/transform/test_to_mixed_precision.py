"""ToMixedPrecision: which calls take halves, what stays, and how far results are from those before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import PassError
from opgen_runtime.operator import Op
from opgen_runtime.transform import ToMixedPrecision
from opgen_runtime.transform.to_mixed_precision import ATTR, kind_of
from tests.transform.whole import function, gives


def var(*shape: int) -> rt.Var:
    return rt.var("x", shape=shape)


KINDS: dict[str, list[Callable[[], rt.Call]]] = {
    "always": [
        lambda: ops.dense(var(2, 3), var(4, 3)),
        lambda: ops.conv2d(var(1, 2, 5, 5), var(3, 2, 3, 3)),
        lambda: ops.batch_matmul(var(1, 2, 3), var(1, 4, 3)),
    ],
    "follow": [
        lambda: ops.relu(var(2)),
        lambda: ops.multiply(var(2), var(2)),
        lambda: ops.max_pool2d(var(1, 2, 4, 4), pool_size=(2, 2)),
        lambda: ops.concatenate((var(2), var(2))),
        lambda: ops.sqrt(var(2)),
    ],
    "never": [
        lambda: ops.sum(ops.multiply(var(2), var(2))),
        lambda: ops.exp(var(2)),
        lambda: ops.softmax(var(2)),
        lambda: ops.layer_norm(var(2, 3), var(3), var(3)),
        lambda: ops.cumsum(var(2)),
    ],
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_derived(kind: str) -> None:
    assert [kind_of(make()).value for make in KINDS[kind]] == [kind] * len(KINDS[kind])


def test_whole() -> None:
    gives(
        ToMixedPrecision(),
        "fn (%x: [2, 3], %w: [3, 3]) { %0 = dense(%x, %w); dense(relu(add(%0, 1f)), %w) }",
        """fn (%x: [2, 3], %w: [3, 3]) {
          %0 = cast(%x, dtype="float16");
          %1 = cast(%w, dtype="float16");
          %2 = dense(%0, %1);
          %3 = relu(add(%2, 1f16));
          cast(dense(%3, %1), dtype="float32")
        }""",
    )


def test_what_needs_digits_is_as_before() -> None:
    gives(
        ToMixedPrecision("bfloat16"),
        "fn (%x: [2, 3], %w: [3, 3]) { %0 = dense(%x, %w); (softmax(%0), add(%0, %x), concatenate((%0, %0))) }",
        """fn (%x: [2, 3], %w: [3, 3]) {
          %0 = dense(cast(%x, dtype="bfloat16"), cast(%w, dtype="bfloat16"));
          %1 = cast(%0, dtype="float32");
          (softmax(%1), add(%1, %x), cast(concatenate((%0, %0)), dtype="float32"))
        }""",
    )


def test_what_stays() -> None:
    for text in (
        "fn (%x: [2, 3]) { softmax(relu(%x)) }",
        "fn (%x: [2, 3] float64, %w: [3, 3] float64) { dense(%x, %w) }",
        "fn (%x: [2, 3] int32, %w: [3, 3] int32) { dense(%x, %w) }",
    ):
        gives(ToMixedPrecision(), text)


def test_constants_that_halves_cannot_hold() -> None:
    gives(
        ToMixedPrecision(),
        "fn (%x: [2, 3], %w: [3, 3]) { multiply(dense(%x, %w), 100000f) }",
        """fn (%x: [2, 3], %w: [3, 3]) {
          %0 = dense(cast(%x, dtype="float16"), cast(%w, dtype="float16"));
          multiply(cast(%0, dtype="float32"), 100000f)
        }""",
    )


def test_branches_and_bindings_keep_their_types() -> None:
    gives(
        ToMixedPrecision(),
        "fn (%c: [] bool, %x: [3, 3]) { let %v: Tensor[(3, 3), float32] = dense(%x, %x); if (%c) { %v } else { %x } }",
        """fn (%c: [] bool, %x: [3, 3]) {
          %0 = cast(%x, dtype="float16");
          let %v: Tensor[(3, 3), float32] = cast(dense(%0, %0), dtype="float32");
          if (%c) { %v } else { %x }
        }""",
    )


@pytest.fixture
def relu() -> Iterator[Op]:
    op = Op.get("relu")
    yield op
    op.reset_attr(ATTR)


def test_an_op_says_otherwise(relu: Op) -> None:
    relu.set_attr(ATTR, "never")
    gives(
        ToMixedPrecision(),
        "fn (%x: [3, 3]) { relu(dense(%x, %x)) }",
        """fn (%x: [3, 3]) {
          %0 = cast(%x, dtype="float16");
          relu(cast(dense(%0, %0), dtype="float32"))
        }""",
    )
    relu.reset_attr(ATTR)
    relu.set_attr(ATTR, "green")
    with pytest.raises(
        PassError, match="relu: its mixed precision is 'green', expected one of always, follow, never"
    ):
        ToMixedPrecision()(function("fn (%x: [3]) { relu(%x) }"))


def test_wrong_dtypes() -> None:
    with pytest.raises(PassError, match="dtype is 'float64', expected 'float16' or 'bfloat16'"):
        ToMixedPrecision("float64")(function("fn (%x: [3]) { relu(%x) }"))


@pytest.mark.parametrize(("dtype", "digits"), [("float16", 11), ("bfloat16", 8)])
def test_the_error_of_a_product_is_that_of_its_operands_and_its_result(dtype: str, digits: int) -> None:
    """|error| <= 2u |x| |w| + u |y|, to first order, where u is half a unit in the last place of a half."""
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype("float32") for shape in ((8, 64), (16, 64)))
    program = rt.Function(
        (a := rt.var("a", shape=(8, 64)), b := rt.var("b", shape=(16, 64))), ops.dense(a, b)
    )
    found = rt.build(ToMixedPrecision(dtype)(program)).run([x, w])
    exact, unit = x.astype("float64") @ w.T.astype("float64"), 2.0**-digits
    bound = 1.01 * unit * (2 * np.abs(x) @ np.abs(w).T + np.abs(exact))
    assert found.dtype == np.float32
    assert np.all(np.abs(found - exact) <= bound)
    assert np.any(np.abs(found - exact) > 2.0**-20)  # it was computed of halves


def network() -> tuple[rt.Function, dict[str, np.ndarray]]:
    """Convolution, batch norm, pooling and a classifier."""
    rng = np.random.default_rng(1)
    shapes = {"w": (8, 3, 3, 3), "gamma": (8,), "beta": (8,), "mean": (8,), "units": (10, 128)}
    params = {name: rng.uniform(0.1, 0.5, shape).astype("float32") for name, shape in shapes.items()}
    x = rt.var("x", shape=(1, 3, 8, 8))
    p = {name: rt.var(name, shape=shape) for name, shape in shapes.items()}
    hidden = ops.conv2d(x, p["w"], padding=(1, 1, 1, 1))
    hidden = ops.batch_norm(hidden, p["gamma"], p["beta"], p["mean"], rt.const(np.ones(8, "float32")))[0]
    hidden = ops.max_pool2d(ops.relu(hidden), pool_size=(2, 2), strides=(2, 2))
    body = ops.softmax(ops.dense(ops.batch_flatten(hidden), p["units"]))
    return rt.Function((x, *p.values()), body), params


def test_a_network_runs() -> None:
    program, params = network()
    image = np.random.default_rng(2).uniform(0, 1, (1, 3, 8, 8)).astype("float32")
    mixed = rt.build(ToMixedPrecision()(program), params=params)
    wanted = rt.build(program, params=params).run([image])
    assert mixed.why_interpreted is None
    assert "float16" in str(ToMixedPrecision()(program))
    np.testing.assert_allclose(mixed.run([image]), wanted, atol=2e-2)
