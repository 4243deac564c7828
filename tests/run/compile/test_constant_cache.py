"""What constants alone decide is computed once a process, however often a program is built."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.run.compile.kernel import constant_cache
from opgen_runtime.run.compile.kernel.kernel import NativeKernel
from opgen_runtime.transform import Evaluator


def network(scale: float) -> ir.Function:
    """Folded scalars and tables, a segment of constants alone, and weights that are packed."""
    x = ir.var("x", shape=(16, 64))
    w, v = ir.var("w", shape=(64, 64)), ir.var("v", shape=(64, 300, 4))
    table = ops.sum(ops.multiply(v, ops.add(scale, 1.0)), axis=(1, 2))
    return ir.Function((x, w, v), ops.dense(ops.multiply(x, table), ops.tanh(w)))


def weights(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    shapes = {"w": (64, 64), "v": (64, 300, 4)}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is evaluated while programs are built: a name for each evaluation and each run of a kernel."""
    found: list[str] = []
    run, by_op = NativeKernel.run, Evaluator._by_op

    def counted_run(self: NativeKernel, *given: Any) -> list[np.ndarray]:
        found.append(self.name)
        return run(self, *given)

    def counted_by_op(self: Evaluator, order: Any) -> Any:
        found.append("by op")
        return by_op(self, order)

    monkeypatch.setattr(NativeKernel, "run", counted_run)
    monkeypatch.setattr(Evaluator, "_by_op", counted_by_op)
    constant_cache.forget_results()
    return found


def test_a_second_build_evaluates_nothing(computed: list[str]) -> None:
    x = np.random.default_rng(0).standard_normal((16, 64)).astype(np.float32)
    for level in range(5):
        constant_cache.forget_results()
        computed.clear()
        first = rt.build(network(2.0), weights(1), opt_level=level)
        assert computed, f"level {level}"
        computed.clear()
        second = rt.build(network(2.0), weights(1), opt_level=level)
        assert computed == [], f"level {level}"
        assert second.kernels == first.kernels
        np.testing.assert_array_equal(first.run([x]), second.run([x]))


def test_other_values_other_structure_and_changed_arrays_are_evaluated(computed: list[str]) -> None:
    given = weights(1)
    x = np.ones((16, 64), np.float32)
    before = rt.build(network(2.0), given).run([x])
    for scale, values in ((2.0, weights(2)), (3.0, given)):
        computed.clear()
        rt.build(network(scale), values)
        assert computed
    given["w"][:] = 0
    computed.clear()
    after = rt.build(network(2.0), given).run([x])
    assert computed
    np.testing.assert_array_equal(after, np.zeros_like(before))


def test_other_expressions_have_other_digests() -> None:
    expression = ops.add(ir.const(np.ones(3, np.float32)), 1.0)
    digests = constant_cache.Digests()
    key, _ = digests.key(expression)
    assert constant_cache.Digests().key(ops.add(ir.const(np.ones(3, np.float32)), 1.0))[0] == key
    others = (
        ops.subtract(ir.const(np.ones(3, np.float32)), 1.0),
        ops.add(ir.const(np.ones((3, 1), np.float32)), 1.0),
        ops.add(ir.const(np.ones(3, np.float16)), 1.0),
        ops.add(1.0, ir.const(np.ones(3, np.float32))),
        ir.TupleGetItem(ir.Tuple((expression, expression)), 1),
    )
    assert len({key, *[digests.key(each)[0] for each in others]}) == 6


def test_kernels_whose_ids_are_in_keys_count_for_the_memory_that_they_take() -> None:
    constant_cache.forget_results()
    packed(np.ones((64, 300), np.float32))
    found = [constant_cache._results.get(key) for key in constant_cache._results]
    (kernel,) = [
        each for _, meaning in filter(None, found) for each in meaning if isinstance(each, NativeKernel)
    ]
    assert (
        constant_cache._results.nbytes
        > sum(size for _, size in kernel.footprint())
        > kernel.image.code.__sizeof__()
    )


def lasting(array: np.ndarray) -> np.ndarray:
    """An equal array whose elements nobody can change."""
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)


def packed(w: np.ndarray) -> tuple[np.ndarray, ...]:
    """What a product with a constant gives for the identity: its kernel packs the constant first."""
    x = ir.var("x", shape=(w.shape[0], w.shape[0]))
    made = rt.build(ir.Function((x,), ops.matmul(x, ir.const(w))))
    assert made.precompute_kernels
    return made.run([np.eye(w.shape[0], dtype=np.float32)])  # type: ignore[return-value]


def test_equal_weights_that_last_are_packed_once_and_others_are_packed(computed: list[str]) -> None:
    w = np.random.default_rng(3).standard_normal((256, 512)).astype(np.float32)
    first = packed(lasting(w))
    assert any("precompute" in name for name in computed)
    computed.clear()
    np.testing.assert_array_equal(packed(lasting(w)), first)
    assert not any("precompute" in name for name in computed)
    data = np.frombuffer(w.tobytes(), np.uint8)
    unseen = next(k for k in range(data.size) if k % (data.size // constant_cache._SAMPLED_BYTES | 1))
    other = w.copy()
    other.reshape(-1).view(np.uint8)[unseen] ^= 1  # its sample is that of w
    assert constant_cache._sample(lasting(other)) == constant_cache._sample(lasting(w))
    np.testing.assert_array_equal(packed(lasting(other)), other)


def test_a_read_only_view_of_what_can_change_is_digested(computed: list[str]) -> None:
    w = np.random.default_rng(4).standard_normal((256, 512)).astype(np.float32)
    view = w.view()
    view.flags.writeable = False
    np.testing.assert_array_equal(packed(view), w)
    w[7, 9] += 1
    np.testing.assert_array_equal(packed(view), w)


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64", "bool", "int16"])
@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (5000,), (70, 90)])
def test_samples_tell_types_and_values_apart(shape: tuple[int, ...], dtype: str) -> None:
    zeros = lasting(np.zeros(shape, dtype))
    assert constant_cache._lasts(zeros) or zeros.size == 0
    assert not constant_cache._lasts(np.zeros(shape, dtype))
    assert constant_cache._sample(zeros) == constant_cache._sample(lasting(np.zeros(shape, dtype)))
    kinds = [zeros, lasting(np.zeros((*shape, 1), dtype)), lasting(np.zeros(shape, "uint8"))]
    kinds += [lasting(np.ones(shape, dtype))] * bool(zeros.size)
    assert len({constant_cache._sample(each) for each in kinds}) == len(kinds)
