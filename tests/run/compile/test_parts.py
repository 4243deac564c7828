"""prepare and main: what constants alone decide is computed once a build, and changes no bit."""

from __future__ import annotations

import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.codegen import Pipeline
from opgen_runtime.operator import TensorType
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.kernel import steps
from tests.lower.library.test_contractions import products, target, var


def arrays(variables: list[ir.Var], seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    found = []
    for each in variables:
        assert isinstance(each.checked_type, TensorType)
        values = random.standard_normal(each.checked_type.concrete_shape)
        found.append(np.abs(values).astype(each.checked_type.dtype.numpy))  # variances are not negative
    return found


@st.composite
def others(draw: st.DrawFn) -> tuple[list[ir.Var], ir.Expr]:
    """Programs in which constants meet other ops than products."""
    n, c, size = draw(st.integers(1, 3)), draw(st.integers(1, 20)), draw(st.integers(3, 9))
    x = var("x", n, c, size, size)
    match draw(st.sampled_from(["conv", "batch_norm", "chain", "tuple"])):
        case "conv":
            w, b = var("w", 16, c, 3, 3), var("b", 16)
            return [x, w, b], ops.relu(ops.bias_add(ops.conv2d(x, w, padding=(1, 1, 1, 1)), b))
        case "batch_norm":
            stats = [var(name, c) for name in ("gamma", "beta", "mean", "variance")]
            return [x, *stats], ops.batch_norm(x, *stats)[0]
        case "chain":
            w = var("w", c, 1, 1)
            return [x, w], ops.multiply(x, ops.softmax(ops.tanh(ops.sqrt(w)), axis=0))
        case _:
            w = var("w", n, c, size, size)
            return [x, w], ops.concatenate([ops.exp(w), ops.tanh(x), w], axis=1)


@settings(max_examples=15)
@given(st.one_of(products(), others()), st.data())
def test_prepare_and_main_equal_the_whole(program: tuple[list[ir.Var], ir.Expr], data: st.DataObject) -> None:
    variables, body = program
    function = ir.Function(tuple(variables), body, attrs={"Primitive": 1})
    constant = data.draw(st.sets(st.integers(0, len(variables) - 1)))
    on = target(data.draw(st.sampled_from([1, 2])))
    values = arrays(variables)
    request = pipeline.Request(function, on, constant=frozenset(constant))
    *_, (_, unsplit) = pipeline.through_kernel(
        request, [row for row in pipeline.KERNEL if row.name != "split"]
    )
    (wanted,) = unsplit.run(values)
    parts = pipeline.compile_parts(function, constant, on)
    assert constant.issuperset(parts.constants)
    precomputed = (
        [] if parts.precompute is None else parts.precompute.run([values[k] for k in parts.constants])
    )
    (found,) = parts.main.run([*[values[k] for k in parts.operands], *precomputed])
    np.testing.assert_array_equal(found, wanted)


# ------------------------------------------------------------------ programs

X = var("x", 32, 64)
LAYERS = [var(f"w{k}", 64, 64) for k in range(3)]


def layers() -> ir.Function:
    h: ir.Expr = X
    for w in LAYERS:
        h = ops.relu(ops.dense(h, w))
    return ir.Function((X, *LAYERS), h)


def test_layers_share_kernels_whatever_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    translated: list[object] = []
    plain = steps.segment_of
    monkeypatch.setattr(steps, "segment_of", lambda *args: translated.append(args) or plain(*args))
    pipeline.forget_kernels()
    values = arrays([X, *LAYERS])
    params = dict(zip(LAYERS, values[1:], strict=True))
    executable = rt.build(layers(), params)
    assert executable.kernels == ("opgen_dense_relu",) * 3
    assert executable.precompute_kernels == ("opgen_dense_relu_precompute",) * 3
    assert len(executable.compiled) == 1
    seen = len(translated)
    others = dict(zip(LAYERS, arrays([X, *LAYERS], seed=1)[1:], strict=True))
    assert rt.build(layers(), others).compiled == executable.compiled
    assert len(translated) == seen
    np.testing.assert_array_equal(executable.run(values[:1]), rt.build(layers()).run(values))


def test_equal_constants_are_kept_once_and_what_is_prepared_replaces_them(tmp_path: Path) -> None:
    x, *weights = arrays([X, *LAYERS])
    first = weights[0]
    held = weakref.ref(first)
    executable = rt.build(layers(), dict(zip(LAYERS, [first, first.copy(), weights[2]], strict=True)))
    assert executable.plan is not None
    constants = list(executable.plan.constants.values())
    assert [constant.size for constant in constants] == [64 * 64] * 2
    wanted = executable.run([x])
    executable.save(tmp_path / "layers")
    loaded = rt.load(tmp_path / "layers")
    assert loaded.kernels == executable.kernels
    np.testing.assert_array_equal(loaded.run([x]), wanted)
    del first, weights
    assert held() is None


def test_what_is_prepared_runs_once_and_is_compiled_in_little_time() -> None:
    dense = ops.dense(var("x", 4, 64), var("w", 32, 64))
    request = pipeline.Request(
        ir.Function(tuple(ir.free_vars(dense)), dense, attrs={"Primitive": 1}), target(1), constant={1}
    )
    *_, (_, scheduled) = pipeline.through_kernel(request, pipeline.upto("split"))
    assert not scheduled.normal.segment.runs_once
    assert scheduled.precompute.normal.segment.runs_once
    *_, (_, emitted) = pipeline.through_kernel(
        request, pipeline.between("split", "emit"), scheduled.precompute
    )
    assert emitted.passes is Pipeline.DIRECT


def test_the_disk_has_both_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    function = ir.Function((X, LAYERS[0]), ops.dense(X, LAYERS[0]), attrs={"Primitive": 1})
    first = pipeline.compile_parts(function, (1,))
    pipeline.forget_kernels()
    monkeypatch.setattr(steps, "segment_of", None)
    again = pipeline.compile_parts(function, (1,))
    assert first.precompute is not None
    assert again.precompute is not None
    assert again.precompute is not first.precompute
    assert (again.operands, again.constants) == (first.operands, first.constants) == ((0,), (1,))
    x, w = arrays([X, LAYERS[0]])
    (wanted,) = first.main.run([x, *first.precompute.run([w])])
    (found,) = again.main.run([x, *again.precompute.run([w])])
    np.testing.assert_array_equal(found, wanted)


def test_branches_take_what_was_prepared() -> None:
    condition = ir.Var("c", TensorType((), "bool"))
    body = ir.If(condition, ops.dense(X, LAYERS[0]), ops.dense(X, LAYERS[1]))
    x, w0, w1 = arrays([X, *LAYERS[:2]])
    executable = rt.build(ir.Function((condition, X, *LAYERS[:2]), body), {"w0": w0, "w1": w1})
    assert len(executable.precompute_kernels) == 2
    for choice, w in ((True, w0), (False, w1)):
        wanted = rt.build(ir.Function((X, LAYERS[0]), ops.dense(X, LAYERS[0]))).run([x, w])
        np.testing.assert_array_equal(executable.run([np.array(choice), x]), wanted)


def test_what_takes_constants_alone_is_a_constant_at_every_level() -> None:
    x, w = var("x", 64, 64), LAYERS[0]
    function = ir.Function((x, w), ops.add(x, ops.softmax(ops.dense(ops.tanh(w), w), axis=1)))
    given, value = arrays([x, w])
    for level in range(3):
        executable = rt.build(function, {w: value}, opt_level=level)
        assert len(executable.kernels) == 1
        assert executable.precompute_kernels or executable.kernels == ("opgen_add",)
        wanted = rt.build(function).run([given, value])
        np.testing.assert_allclose(executable.run([given]), wanted, rtol=1e-5)


def test_a_constant_that_would_grow_stays() -> None:
    """int8 weights are four times as large as int32: they are converted in each run."""
    x, w = var("x", 32, 64, dtype="int32"), var("w", 64, 64, dtype="int8")
    function = ir.Function((x, w), ops.dense(x, ops.cast(w, dtype="int32")), attrs={"Primitive": 1})
    parts = pipeline.compile_parts(function, (1,))
    assert parts.precompute is None
    a, b = (np.random.default_rng(0).integers(-9, 9, v.checked_type.concrete_shape) for v in (x, w))  # type: ignore[attr-defined]  # tensors
    (found,) = parts.main.run([a.astype(np.int32), b.astype(np.int8)])
    np.testing.assert_array_equal(found, a @ b.T)


def test_results_that_are_params() -> None:
    x, w = var("x", 3, 4), var("w", 4)
    function = ir.Function((x, w), ir.Tuple((w, ops.add(x, ops.exp(w)), ops.exp(w))))
    given, value = arrays([x, w])
    for level in range(5):
        first, total, last = rt.build(function, {w: value}, opt_level=level).run([given])
        np.testing.assert_array_equal(first, value)
        np.testing.assert_allclose(last, np.exp(value), rtol=1e-6)
        np.testing.assert_allclose(total, given + np.exp(value), rtol=1e-6)
    (only,) = rt.build(ir.Function((w,), ir.Tuple((w,))), {w: value}).run([])
    np.testing.assert_array_equal(only, value)
    assert not np.shares_memory(only, value)
