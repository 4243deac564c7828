"""Which calls of an eager op share compiled code, and where the names of ops are bound."""

from __future__ import annotations

import enum
import subprocess
import sys

import numpy as np
import pytest

from opgen_runtime.base.lru_cache import LRUCache
from opgen_runtime.run.calls import eager
from opgen_runtime.run.calls.eager import eager_op

A = np.array([[1.0, -2.0, 3.0]], np.float32)


class Number(int):
    """An int that hides its value."""

    def __repr__(self) -> str:
        return "Number"


class Axis(enum.IntEnum):
    ROWS = 0
    COLUMNS = 1


def test_arrays_as_attrs_are_told_apart_by_value_not_by_text() -> None:
    data = np.zeros((1, 1, 2, 2), np.float32)
    with np.printoptions(precision=2):
        first, second = (eager.multibox_prior(data, sizes=np.array([size])) for size in (0.251, 0.253))
    np.testing.assert_allclose(np.ptp(first[0, 0, ::2]), 0.251, rtol=1e-5)
    np.testing.assert_allclose(np.ptp(second[0, 0, ::2]), 0.253, rtol=1e-5)


def test_ints_of_other_classes_are_ints() -> None:
    data = np.arange(6, dtype=np.int32).reshape(2, 3)
    for axis in (0, 1):
        for written in (axis, Number(axis), Axis(axis), np.int64(axis), [Number(axis)], np.array([axis])):
            np.testing.assert_array_equal(eager.sum(data, axis=written), data.sum(axis))


def test_equal_attrs_share_code_however_they_are_written() -> None:
    data = np.zeros((3, 5), np.int32)
    before = len(eager_op.compiled)
    for written in (1, (1,), [1], np.int8(1), Axis.COLUMNS, np.array([1])):
        eager.sum(data, axis=written)
    eager.sum(data, 1)
    assert len(eager_op.compiled) == before + 1


@pytest.mark.parametrize("alpha", [0.0, -0.0, float("nan"), float("inf"), 1, 1.0])
def test_floats_are_told_apart_by_their_bits(alpha: float) -> None:
    data = np.array([-1.0], np.float32)
    expected = data * np.float32(alpha)
    result = eager.leaky_relu(data, alpha=alpha)
    np.testing.assert_array_equal(result, expected)
    assert np.signbit(result[0]) == np.signbit(expected[0]) or np.isnan(alpha)


def test_a_name_is_no_position() -> None:
    """Attrs by name and by position with the same written values are different calls."""
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    np.testing.assert_array_equal(eager.trilu(x, 1, True), np.triu(x, 1))
    np.testing.assert_array_equal(eager.trilu(x, k=1, upper=True), np.triu(x, 1))
    np.testing.assert_array_equal(eager.trilu(x, 1, upper=False), np.tril(x, 1))


def test_the_least_recently_used_is_dropped() -> None:
    kept: LRUCache[str] = LRUCache(2)
    kept.put("a", "A")
    kept.put("b", "B")
    assert kept.get("a") == "A"
    kept.put("c", "C")
    assert (kept.get("b"), list(kept), len(kept)) == (None, ["a", "c"], 2)
    assert (kept.put("a", "AA"), kept.get("a")) == ("AA", "AA")


def test_every_name_of_eager_can_be_used_and_then_everything_again() -> None:
    """No op hides a builtin, or another name, from the code of any module."""
    program = """
import sys, types, warnings
import numpy as np
import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.run.calls import eager
names = dir(eager)
for name in names: getattr(eager, name)
for name in dir(ops): getattr(ops, name)
for name in rt.__all__: getattr(rt, name)
x = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)
assert names == dir(eager) and eager.op("any") is eager.any
assert eager.any(x > 2).item() is True and eager.all(x > 2, axis=[0]).tolist() == [False, False]
assert eager.concatenate([x, x]).shape == (4, 2) and eager.sum(x, axis=(0, 1)).item() == 2.5
assert eager.abs(x).min() == 0.5 and [p.shape for p in eager.split(x, 2)] == [(1, 2), (1, 2)]
assert rt.jit(lambda a, k: ops.max(a, axis=k))(x, 0).tolist() == [3.0, 0.5]
try: eager.nothing
except AttributeError as error: assert "no op 'nothing'" in str(error)
bound = set(dir(ops))
for module in [m for n, m in list(sys.modules.items()) if n.startswith("opgen_runtime")]:
    if module.__name__.startswith("opgen_runtime.ops."): continue  # an op's own function
    functions = [v for v in vars(module).values() if isinstance(v, types.FunctionType)]
    code = any(f.__module__ == module.__name__ for f in functions)
    holds = {n for n in bound & set(vars(module)) if isinstance(vars(module)[n], eager.EagerOp)
             or getattr(vars(module)[n], "__module__", "").startswith("opgen_runtime.ops.")}
    assert not (code and holds), (module, holds)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
