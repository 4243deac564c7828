"""One more axis on tensor expressions, whole."""

import numpy as np
import pytest

from opgen_runtime.base.errors import LanguageError
from opgen_runtime.base.vocabulary import DType
from opgen_runtime.compute import te
from opgen_runtime.compute.te.batching import batched
from opgen_runtime.compute.te.extern import function_name
from opgen_runtime.compute.te.loop_ir import FunctionOfBuffers
from opgen_runtime.compute.te.tensor import Extern, Tensor


def wide(tensor, extent=3):
    return te.placeholder(tensor.name, (extent, *tensor.shape), tensor.dtype)


def test_the_axis_is_on_what_depends_on_the_operand_alone():
    a, w = te.placeholder("a", (4,), "float32"), te.placeholder("w", (4,), "float32")
    twice = te.compute("twice", (4,), "float32", lambda i: te.read(w, i) + te.read(w, i))
    out = te.compute("out", (4,), "float32", lambda i: te.read(a, i) * te.read(twice, i))
    (made, same), has_axis = batched([out, twice], {a: wide(a)}, 3)
    assert has_axis == (True, False)
    assert same is twice
    assert te.to_text([made]) == (
        "a: float32[3, 4]\nw: float32[4]\ntwice[i0]: float32[4] = w[i0] + w[i0]\n"
        "out[row, i0]: float32[3, 4] = a[row, i0] * twice[i0]\n"
    )


def test_reductions_keep_their_axes():
    a = te.placeholder("a", (4, 5), "float32")
    k = te.reduce_axis(5, "k")
    out = te.compute("out", (4,), "float32", lambda i: te.reduce("sum", k, te.read(a, i, k.var)))
    (made,), _ = batched([out], {a: wide(a)}, 3)
    assert te.to_text([made]) == (
        "a: float32[3, 4, 5]\nout[row, i0]: float32[3, 4] = sum(a[row, i0, k] for k in range(5))\n"
    )


INT64 = DType("int64")


def _function(x, y):
    return x + y, x - y


def externs(free=frozenset()):
    x, y = te.placeholder("x", (2,), "int64"), te.placeholder("y", (2,), "int64")
    results = [Tensor(f"out{k}", (2,), INT64, Extern((x, y), _function, (), k, 2, free)) for k in (0, 1)]
    return x, y, results


def test_hand_written_functions_are_called_once_a_row():
    x, y, results = externs()
    big = wide(x)
    made, _ = batched(results, {x: big}, 3)
    one, other = (each.op for each in made)
    assert one.function is other.function
    assert function_name(one) == function_name(results[0].op)
    rows, row = np.arange(6).reshape(3, 2), np.array([10, 20])
    sums, differences = te.evaluate(list(made), {big: rows, y: row})
    np.testing.assert_array_equal(sums, rows + row)
    np.testing.assert_array_equal(differences, rows - row)


def test_loop_ir_of_a_function_of_buffers_is_that_of_one_element():
    def fill(ins, outs):
        raise AssertionError("it is lowered, and nothing is")

    x = te.placeholder("x", (2,), "int64")
    made = Tensor("made", (2,), INT64, Extern((x,), FunctionOfBuffers(fill), ()))
    with pytest.raises(LanguageError, match="fill gives loop IR, which is that of one element of a batch"):
        batched([made], {x: wide(x)}, 3)


def test_results_of_sizes_of_their_own_are_refused():
    x, _, results = externs(frozenset([0]))
    with pytest.raises(
        LanguageError, match="out0: its size depends on data, and each row would have its own"
    ):
        batched(results, {x: wide(x)}, 3)
