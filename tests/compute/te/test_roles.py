"""Roles of operands are right: by hand for some ops, numerically for every declared case of every op."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from opgen_runtime import ir, ops, testing
from opgen_runtime.compute.te.evaluation import evaluate
from opgen_runtime.compute.te.roles import Role, pairing, passed_axes, role
from opgen_runtime.declaration import CallTensors, call_tensors

SUITES = Path(__file__).parents[2] / "generated"


def v(*shape: int, dtype: str = "float32") -> ir.Var:
    return ir.var("x", shape=shape, dtype=dtype)


def tensors(call: object) -> CallTensors:
    assert isinstance(call, ir.Call)
    return call_tensors(call.op, call.attrs, [a.checked_type for a in call.args])  # type: ignore[arg-type]


ROLES: dict[str, tuple[object, str]] = {
    "add": (ops.add(v(2, 3), v(3)), "affine affine"),
    "multiply": (ops.multiply(v(2, 3), v(3)), "linear linear"),
    "divide": (ops.divide(v(2, 3), v(3)), "linear other"),
    "half": (ops.multiply(v(2, dtype="float16"), v(2, dtype="float16")), "linear linear"),
    "relu": (ops.relu(v(2, 3)), "homogeneous"),
    "leaky_relu": (ops.leaky_relu(v(2, 3)), "homogeneous"),
    "abs": (ops.abs(v(2, 3)), "homogeneous"),
    "negative": (ops.negative(v(2, 3)), "linear"),
    "exp": (ops.exp(v(2, 3)), "other"),
    "clip": (ops.clip(v(2, 3), a_min=0.0, a_max=6.0), "other"),
    "clip below": (ops.clip(v(2, 3), a_min=0.0, a_max=float("inf")), "homogeneous"),
    "softmax": (ops.softmax(v(2, 3)), "other"),
    "argmax": (ops.argmax(v(2, 3), axis=1), "invariant"),
    "sum": (ops.sum(v(2, 3), axis=1), "linear"),
    "mean": (ops.mean(v(2, 3), axis=1), "linear"),
    "max": (ops.max(v(2, 3), axis=1), "homogeneous"),
    "conv2d": (ops.conv2d(v(2, 4, 5, 5), v(6, 2, 3, 3), groups=2, padding=(1, 1)), "linear linear"),
    "conv2d_transpose": (ops.conv2d_transpose(v(2, 4, 5, 5), v(4, 2, 3, 3)), "linear linear"),
    "max_pool2d": (ops.max_pool2d(v(2, 4, 5, 5), pool_size=(2, 2), padding=(1, 1)), "homogeneous"),
    "avg_pool2d": (ops.avg_pool2d(v(2, 4, 5, 5), pool_size=(2, 2), padding=(1, 1)), "linear"),
    "batch_norm": (ops.batch_norm(v(2, 4), v(4), v(4), v(4), v(4)), "affine affine affine affine other"),
    "concatenate": (ops.concatenate([v(2), v(3)], axis=0), "affine affine"),
    "take": (ops.take(v(5, 2), v(3, dtype="int32"), axis=0), "linear other"),
    "transpose": (ops.transpose(v(2, 3, 4), axes=(2, 0, 1)), "linear"),
    "less": (ops.less(v(2), v(2)), "other other"),
}


@pytest.mark.parametrize("name", ROLES)
def test_roles(name: str) -> None:
    call, expected = ROLES[name]
    made = tensors(call)
    found = [role(made.outputs[0], frozenset({x})).value for x in made.inputs]
    assert " ".join(found) == expected


def test_operands_together() -> None:
    made = tensors(ops.add(v(2, 3), v(3)))
    assert role(made.outputs[0], frozenset(made.inputs)) is Role.LINEAR
    made = tensors(ops.multiply(v(2, 3), v(3)))
    assert role(made.outputs[0], frozenset(made.inputs)) is Role.OTHER
    made = tensors(ops.maximum(v(2, 3), v(3)))
    assert role(made.outputs[0], frozenset(made.inputs)) is Role.HOMOGENEOUS


AXES: dict[str, tuple[object, list[tuple[int | None, ...]]]] = {
    "conv2d": (ops.conv2d(v(2, 4, 5, 5), v(6, 4, 3, 3)), [(0, None, None, None), (1, None, None, None)]),
    "conv2d NHWC": (
        ops.conv2d(v(2, 5, 5, 4), v(3, 3, 4, 6), data_layout="NHWC", kernel_layout="HWIO"),
        [(0, None, None, None), (None, None, None, 3)],
    ),
    "conv2d_transpose": (
        ops.conv2d_transpose(v(2, 4, 5, 5), v(4, 6, 3, 3)),
        [(0, None, None, None), (None, 1, None, None)],
    ),
    "conv2d_transpose in groups": (
        ops.conv2d_transpose(v(2, 4, 5, 5), v(4, 3, 3, 3), groups=2),
        [(0, None, None, None), (None, None, None, None)],
    ),
    "add": (ops.add(v(2, 3), v(3)), [(0, 1), (1,)]),
    "a row beside many": (ops.add(v(2, 3), v(1, 3)), [(0, 1), (None, 1)]),
    "transpose": (ops.transpose(v(2, 3, 4), axes=(2, 0, 1)), [(1, 2, 0)]),
    "max_pool2d": (ops.max_pool2d(v(2, 4, 5, 5), pool_size=(2, 2)), [(0, 1, None, None)]),
    "dense": (ops.dense(v(2, 5), v(4, 5)), [(0, None), (1, None)]),
    "softmax": (ops.softmax(v(2, 3)), [(0, None)]),
    "reverse": (
        ops.flip(v(2, 3), axis=0) if hasattr(ops, "flip") else ops.reverse(v(2, 3), axis=0),
        [(None, 1)],
    ),
}


@pytest.mark.parametrize("name", AXES)
def test_axes(name: str) -> None:
    call, expected = AXES[name]
    made = tensors(call)
    assert [passed_axes(made.outputs[0], x) for x in made.inputs] == expected


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_what_meets_what_in_a_convolution(groups: int) -> None:
    made = tensors(ops.conv2d(v(2, 4, 5, 5), v(8, 4 // groups, 3, 3), groups=groups))
    data, weight = made.inputs
    found = pairing(made.outputs[0], data, 1, weight)
    assert found is not None
    o, i = np.arange(8)[:, None], np.arange(4 // groups)
    expected = o // (8 // groups) * (4 // groups) + i
    np.testing.assert_array_equal(np.broadcast_to(found, (8, 4 // groups, 1, 1))[:, :, 0, 0], expected)
    assert pairing(made.outputs[0], data, 2, weight) is None  # an element of the weight meets every row
    assert pairing(made.outputs[0], weight, 0, data) is None


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_what_meets_what_in_a_transposed_convolution(groups: int) -> None:
    made = tensors(ops.conv2d_transpose(v(2, 4, 5, 5), v(4, 8 // groups, 3, 3), groups=groups))
    data, weight = made.inputs
    found = pairing(made.outputs[0], data, 1, weight)
    assert found is not None
    np.testing.assert_array_equal(found[:, 0, 0, 0], np.arange(4))


def scaled(value: np.ndarray, factor: float) -> np.ndarray:
    return (value * np.asarray(factor, value.dtype)).astype(value.dtype)


def check_numerically(made: CallTensors, arrays: list[np.ndarray]) -> None:
    """f(s x) = s f(x) as the roles say, and along the axes that they say."""
    outputs = made.outputs[: len(made.outputs) - made.lengths]
    feeds = dict(zip(made.inputs, arrays, strict=True))
    plain = evaluate(outputs, feeds)
    for x, array in zip(made.inputs, arrays, strict=True):
        if not x.dtype.is_float or x.dtype.is_storage:
            continue
        for output, before in zip(outputs, plain, strict=True):
            kind = role(output, frozenset({x}))
            factors = {
                Role.LINEAR: (2.0, -0.5),
                Role.HOMOGENEOUS: (4.0,),
                Role.INVARIANT: (2.0,),
                Role.FREE: (2.0,),
            }
            for factor in factors.get(kind, ()):
                (after,) = evaluate([output], {**feeds, x: scaled(array, factor)})
                times = factor if kind in (Role.LINEAR, Role.HOMOGENEOUS) else 1.0
                expected = before if times == 1.0 else scaled(before, times)
                np.testing.assert_allclose(after, expected, rtol=1e-5, atol=1e-30, err_msg=f"{kind} {x.name}")
            if kind in (Role.LINEAR, Role.HOMOGENEOUS) and output.dtype.is_float:
                for axis, to in enumerate(passed_axes(output, x)):
                    if to is None:
                        continue
                    s = 2.0 ** (np.arange(array.shape[axis]) % 5)
                    along = s.reshape([-1 if d == axis else 1 for d in range(array.ndim)])
                    (after,) = evaluate([output], {**feeds, x: (array * along).astype(array.dtype)})
                    along = s.reshape([-1 if d == to else 1 for d in range(before.ndim)])
                    expected = (before * along).astype(before.dtype)
                    np.testing.assert_allclose(
                        after, expected, rtol=1e-5, atol=1e-30, err_msg=f"axis {axis} {x.name}"
                    )


@pytest.mark.parametrize("name", ROLES)
def test_roles_hold_numerically(name: str) -> None:
    made = tensors(ROLES[name][0])
    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(0, 2, [int(d) for d in x.shape]).astype(x.dtype.numpy)  # type: ignore[arg-type]
        if x.dtype.is_int
        else rng.uniform(0.5, 2, [int(d) for d in x.shape]).astype(x.dtype.numpy)  # type: ignore[arg-type]
        for x in made.inputs
    ]
    check_numerically(made, arrays)


@pytest.mark.parametrize("name", sorted(p.stem.removeprefix("test_") for p in SUITES.glob("test_*.py")))
def test_roles_hold_on_declared_cases(name: str) -> None:
    """The first small declared case of an op."""
    suite = testing.suite_of(importlib.import_module(f"tests.generated.test_{name}"))
    rng = np.random.default_rng(0)
    tried = 0
    for case in suite.declared_cases:
        call, variables = testing.case_call(suite.op, case)
        if call.op.get_attr("declaration").extern or tried == 1:  # type: ignore[union-attr]
            continue
        arrays = [np.asarray(array) for array in given(variables, rng)]
        if sum(array.size for array in arrays) > 5_000:
            continue
        tried += 1
        check_numerically(tensors(call), arrays)


def given(variables: list[ir.Var], rng: np.random.Generator) -> list[np.ndarray]:
    """Values for the operands: floats with both signs, ints that any index may be."""
    found = []
    for variable in variables:
        dtype, shape = variable.checked_type.dtype, variable.checked_type.concrete_shape  # type: ignore[attr-defined]
        drawn = (
            rng.uniform(0.5, 2, shape) * rng.choice([-1, 1], shape)
            if dtype.is_float
            else rng.integers(0, 2, shape)
        )
        found.append(drawn.astype(dtype.numpy))
    return found
