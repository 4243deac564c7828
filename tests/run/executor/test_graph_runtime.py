"""The face of a graph runtime."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import ExecutorError

A = rt.var("a", rt.TensorType((2, 3), "float32"))
B = rt.var("b", rt.TensorType((3,), "float32"))
ONES = np.ones((2, 3), np.float32)
ROW = np.array([1, 2, 3], np.float32)


def runtime() -> rt.GraphRuntime:
    program = ir.Function((A, B), ir.Tuple((ops.add(A, B), ir.Tuple((ops.softmax(ops.cumsum(B)), B)))))
    return rt.GraphRuntime(rt.build(program))


def test_set_run_get() -> None:
    found = runtime()
    assert found.get_input_info() == ({"a": (2, 3), "b": (3,)}, {"a": "float32", "b": "float32"})
    assert (found.get_num_inputs(), found.get_input_index("b"), found.get_input_index("c")) == (2, 1, -1)
    found.set_input("a", ONES)
    found.set_input(1, ROW)
    found.run()
    assert found.get_num_outputs() == 3
    np.testing.assert_array_equal(found.get_output(0).numpy(), ONES + ROW)
    np.testing.assert_array_equal(found.get_output(2).numpy(), ROW)
    found.run(a=2 * ONES)
    into = np.zeros((2, 3), np.float32)
    assert found.get_output(0, into).numpy() is into
    np.testing.assert_array_equal(into, 2 * ONES + ROW)
    kept = found.get_input("b")
    assert kept is not None
    assert kept.numpy() is ROW


def test_what_does_not_fit() -> None:
    found = runtime()
    with pytest.raises(ExecutorError, match="nothing has run yet"):
        found.get_output(0)
    with pytest.raises(ExecutorError, match="input 'a' was never set"):
        found.run()
    with pytest.raises(ExecutorError, match=r"there is no input 'aa'; did you mean 'a'\? \(there are a, b\)"):
        found.set_input("aa", ONES)
    with pytest.raises(ExecutorError, match="there is no input 2; there are 2"):
        found.set_input(2, ONES)
    with pytest.raises(ExecutorError, match=r"input 'b' must be float32\[3\], found float32\[2, 3\]"):
        found.set_input(b=ONES)
    found.run(a=ONES, b=ROW)
    with pytest.raises(ExecutorError, match="there is no output 3; there are 3"):
        found.get_output(3)
