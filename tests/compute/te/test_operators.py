"""Python's operators on elements: random expressions give what numpy gives; what Python must decide is refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opgen_runtime.errors import DTypeError, UndecidedError

import opgen_runtime as rt
from opgen_runtime import te

Expression = Callable[..., Any]  # of (x, y, i): elements and an index, or arrays of them

_NUMBERS: Final = (
    operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor, operator.floordiv,
    operator.mod,
)  # fmt: skip
_COMPARISONS: Final = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_CONNECTIVES: Final = (operator.and_, operator.or_, operator.xor)
_X, _Y = np.array([3, -7, 0, 7, 128, 3], "int64"), np.array([3, 7, 1, -2, 7, 5], "int64")


def _number(depth: int) -> st.SearchStrategy[Expression]:
    leaf = st.one_of(
        st.just(lambda x, y, i: x),
        st.just(lambda x, y, i: y),
        st.just(lambda x, y, i: i),
        st.integers(1, 9).map(lambda value: lambda x, y, i: value + 0 * x),
    )
    if not depth:
        return leaf
    inner = _number(depth - 1)
    return st.one_of(leaf, st.builds(_joined, st.sampled_from(_NUMBERS), inner, inner), _chosen(depth - 1))


def _joined(function: Expression, a: Expression, b: Expression) -> Expression:
    if function in (operator.floordiv, operator.mod):
        return lambda x, y, i: function(a(x, y, i), (b(x, y, i) & 7) + 1)
    return lambda x, y, i: function(a(x, y, i), b(x, y, i))


def _condition(depth: int) -> st.SearchStrategy[Expression]:
    numbers = _number(depth)
    constant = st.integers(-2, 9).map(lambda value: lambda x, y, i: value)
    leaf = st.builds(_joined, st.sampled_from(_COMPARISONS), numbers, st.one_of(numbers, constant))
    if not depth:
        return leaf
    inner = _condition(depth - 1)
    negated = inner.map(lambda a: lambda x, y, i: ~a(x, y, i))
    return st.one_of(leaf, negated, st.builds(_joined, st.sampled_from(_CONNECTIVES), inner, inner))


def _chosen(depth: int) -> st.SearchStrategy[Expression]:
    def choice(condition: Expression, a: Expression, b: Expression) -> Expression:
        def value(x: Any, y: Any, i: Any) -> Any:
            choose = np.where if isinstance(x, np.ndarray) else te.if_then_else
            return choose(condition(x, y, i), a(x, y, i), b(x, y, i))

        return value

    return st.builds(choice, _condition(depth), _number(depth), _number(depth))


def _built(function: Expression) -> np.ndarray:
    x, y = (te.placeholder((6,), dtype="int64", name=name) for name in "xy")
    made = te.compute(
        (6,), lambda i: te.cast(function(x[i], y[i], te.cast(i, "int64")), "int64"), name="made"
    )
    result: np.ndarray = te.evaluate([made], {x: _X, y: _Y})[0]
    return result


@settings(max_examples=60)
@given(st.one_of(_number(3), _condition(2)))
def test_equals_numpy(function: Expression) -> None:
    np.testing.assert_array_equal(
        _built(function), np.asarray(function(_X, _Y, np.arange(6))).astype("int64")
    )


def test_equality_of_axes_and_elements() -> None:
    x = te.placeholder((4,), name="x")
    k = te.reduce_axis((0, 4), name="k")
    one, zero = te.const(1.0), te.const(0.0)

    def others(i: Any) -> Any:
        return te.sum(te.if_then_else((k != i) & (x[k] == x[i]), one, zero), axis=k)

    made = te.compute((4,), others, name="made")
    given_x = np.array([2, 3, 2, 2], "float32")
    np.testing.assert_array_equal(rt.build(te.create_schedule(made), [x, made])(given_x), [2, 0, 2, 2])


def test_equality_in_a_reducer() -> None:
    x = te.placeholder((5,), dtype="int32", name="x")
    k = te.reduce_axis((0, 5), name="k")
    last = te.comm_reducer(lambda a, b: te.if_then_else(b == 0, a, b), lambda dtype: te.const(0, dtype))
    made = te.compute((1,), lambda i: last(x[k], axis=k), name="made")
    np.testing.assert_array_equal(
        rt.build(te.create_schedule(made), [x, made])(np.array([4, 0, 6, 0, 0], "int32")), [6]
    )


def test_equality_is_identity_elsewhere() -> None:
    n, m = te.var("n"), te.var("m")
    assert n != m
    assert {n: 1, m: 2}[m] == 2
    assert (n, m).index(m) == 1


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x, i: 1.0 if x[i] == 1 else x[i], UndecidedError, "the value of x[i] == 1.0 is not known"),
        (lambda x, i: 1.0 if i != 1 else x[i], UndecidedError, "the value of i != 1 is not known"),
        (lambda x, i: x[i] == "a", DTypeError, "cannot compare x[i] and 'a': expected a number"),
        (lambda x, i: x[i] == i, DTypeError, "cannot compare float32 and index"),
    ],
)
def test_refused(function: Expression, error: type[Exception], message: str) -> None:
    x = te.placeholder((4,), name="x")
    with pytest.raises(error) as caught:
        te.compute((4,), lambda i: function(x, i), name="made")
    assert message in str(caught.value)


def test_what_a_compute_reads_is_sought_once() -> None:
    x = te.placeholder((4,), name="x")
    op = te.compute((4,), lambda i: x[i] + x[3 - i]).op
    assert op.inputs() == (x,)
    assert op.inputs() is op.inputs()


NAMED = {
    "bitwise_and": (lambda x: te.bitwise_and(x, 6), lambda a: a & 6),
    "bitwise_or": (lambda x: te.bitwise_or(x, 6), lambda a: a | 6),
    "bitwise_xor": (lambda x: te.bitwise_xor(x, 6), lambda a: a ^ 6),
    "bitwise_not": (te.bitwise_not, lambda a: ~a),
    "shift_left": (lambda x: te.shift_left(x, 2), lambda a: a << 2),
    "shift_right": (lambda x: te.shift_right(x, 1), lambda a: a >> 1),
    "div": (lambda x: te.div(x, 2), lambda a: np.trunc(a / 2)),
    "indexdiv": (lambda x: te.indexdiv(x, 3), lambda a: a // 3),
    "indexmod": (lambda x: te.indexmod(x, 3), lambda a: a % 3),
    "ceildiv": (lambda x: te.ceildiv(x, 3), lambda a: -(-a // 3)),
    "reinterpret": (lambda x: te.reinterpret("float32", x), lambda a: a.view("float32")),
    "div of floats": (lambda x: te.div(x.astype("float32"), 2.0), lambda a: a.astype("float32") / 2),
    "exp10": (lambda x: te.exp10(x.astype("float64")), lambda a: 10.0**a),
    "nearbyint": (lambda x: te.nearbyint(x.astype("float32") * 0.5), lambda a: np.rint(a * 0.5)),
    "infinity": (
        lambda x: te.if_then_else(x > 0, te.infinity("float32"), 0.0),
        lambda a: np.where(a > 0, np.inf, 0),
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_functions_by_their_names_in_tvm(name: str) -> None:
    function, wanted = NAMED[name]
    x = te.placeholder((6,), dtype="int32", name="x")
    made = te.compute((6,), lambda i: function(x[i]), name="made")
    array = np.array([-7, -2, 0, 1, 5, 9], "int32")
    found = rt.build(te.create_schedule(made), [x, made])(array)
    np.testing.assert_allclose(found, wanted(array), rtol=1e-14)


def test_infinity_is_a_float() -> None:
    with pytest.raises(DTypeError, match="int32 has no infinity; expected a float"):
        te.infinity("int32")
