"""What a traced function computes with: the face of an array, and what it refuses."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import CallError, DTypeError
from opgen_runtime.run.calls import eager

A = np.array([[1.0, -2.0, 3.0], [0.5, 1.0, -1.0]], np.float32)


def same(function: Callable[..., Any], *arrays: Any) -> None:
    wanted = function(*arrays)
    found = rt.jit(function)(*arrays)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_equality_compares_elements() -> None:
    same(lambda a: np.where(a == 1.0, a, -a), A)
    np.testing.assert_array_equal(rt.jit(lambda a: ops.where(a == 1.0, a, -a))(A), np.where(A == 1, A, -A))
    np.testing.assert_array_equal(rt.jit(lambda a: a != a)(A), A != A)
    with pytest.raises(CallError, match=r"np.equal of .* and a object"):
        rt.jit(lambda a: a == object())(A)


def test_expressions_keep_their_identity() -> None:
    seen: list[Any] = []

    def look(a: Any) -> Any:
        seen.append(a)
        return a + 1

    rt.jit(look)(A)
    tracer = seen[0]
    assert tracer.expr == tracer.expr
    assert {tracer.expr: 1}[tracer.expr] == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(tracer)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda a: a if a.sum() > 0 else -a,
            r"a bool \(`if`.*opgen_runtime.ops.where\(condition, a, b\).*& \| ~",
        ),
        (lambda a: a and 1, "a bool"),
        (lambda a: not a, "a bool"),
        (lambda a: 1.0 in a, "`in`"),
        (lambda a: a in [1, 2], "a bool"),
        (lambda a: int(a[0, 0]), r"int\(\)"),
        (lambda a: math.sqrt(a[0, 0]), r"float\(\), which the functions of math call"),
        (lambda a: range(a[0, 0]), "a Python index"),
        (lambda a: a.item(), r"`.item\(\)`"),
        (lambda a: np.asarray(a), "no numpy array can be made"),
        (lambda a: np.array([a, a]), "no numpy array can be made"),
        (lambda a: np.linalg.eig(a), "np.eig is not there while a function is traced"),
        (lambda a: np.isnat(a), "np.isnat is not there.*no declared op"),
        (lambda a: np.add(a, 1, where=A > 0), "the option 'where' is not there"),
        (
            lambda a: np.quantile(a, 0.5, weights=A),
            "np.quantile while a function is traced takes .*'weights'",
        ),
        (lambda a: np.add(a, 1, out=A), "nothing can be written to `out`"),
        (lambda a: a.__setitem__(0, 1), "tensors cannot be written to"),
        (lambda a: a[np.array([True, False])[0]], "True and False are no indices"),
        (lambda a: ops.leaky_relu(a, alpha=a[0, 0]), "attr 'alpha' of leaky_relu needs the value"),
        (lambda a: ops.sum(a, axis=(0, a[0, 0])), "attr 'axis' of sum needs the value"),
        (lambda a: eager.add(a, a), "found an expression; ops of `opgen_runtime.ops` build expressions"),
        (lambda a: a + b"1", "unsupported operand"),
    ],
)
def test_what_needs_values_is_refused_with_what_to_write(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        rt.jit(function)(A)


def test_expressions_of_the_ir_are_no_arrays() -> None:
    x = rt.var("x", rt.TensorType((2,), "float32"))
    for make in (np.asarray, np.array, lambda e: np.array([e, e]), lambda e: np.ones(3)[e]):
        with pytest.raises(CallError, match="holds no elements before it is run"):
            make(x)


def test_attributes_methods_and_iteration() -> None:
    def look(a: Any) -> Any:
        assert (a.shape, a.dtype, a.ndim, a.size, len(a), a.nbytes) == ((2, 3), np.float32, 2, 6, 2, 24)
        rows = [row.sum() for row in a]
        return (
            a.T.reshape(-1).astype(np.int64).max() + rows[0] + round(a[1, 0]) + a.mean(axis=1, keepdims=True)
        )

    same(look, A)
    with pytest.raises(AttributeError, match=r"`.partition` of arrays is not there"):
        rt.jit(lambda a: a.partition(1))(A)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rt.jit(lambda a: a.nothing)(A)


def test_indices_that_the_program_computes() -> None:
    at = np.array([2, 0, -1])
    same(lambda a, i: a[:, i], A, at)
    same(lambda a, i: a[i[:, None] * 0, i], A, at)
    np.testing.assert_array_equal(rt.jit(lambda a: a[a > 0])(A), A[A > 0])
    np.testing.assert_array_equal(rt.jit(lambda a: a[np.array([True, False])])(A), A[:1])
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
        rt.jit(lambda a: a[:, [0, 3]])(A)
    with pytest.raises(CallError, match="depends on data"):
        rt.jit(lambda a: a[a > 0].reshape(-1, 1))(A)


def test_ops_give_tracers_and_tuples_of_them() -> None:
    def parts(a: Any) -> Any:
        left, right = ops.split(a, [1, 2], axis=1)[:2]
        both = ops.concatenate([left, right], axis=1)
        return both == A[:, :2], ops.split(a, 3, axis=1)

    equal, cut = rt.jit(parts)(A)
    assert equal.all()
    np.testing.assert_array_equal(np.concatenate(cut, axis=1), A)
    whole = rt.jit(lambda a: ops.split(a, 3, axis=1))
    assert [part.shape for part in whole(A)] == [(2, 1)] * 3
    assert isinstance(whole.trace(A).body, rt.Call)  # the call itself, not a tuple of its parts


def test_floats_are_given_when_the_program_runs() -> None:
    traced = []

    @rt.jit
    def f(a: Any, s: Any) -> Any:
        traced.append(s)
        return a * s + (s * 2 - 1), np.sqrt(s), s / 3

    for s in [*np.linspace(0, 5, 400).tolist(), -0.0]:
        scaled, root, third = f(A, s)
        assert (scaled.dtype, root.dtype, third.dtype) == (np.float32, np.float64, np.float64)
        np.testing.assert_allclose(scaled, A * np.float32(s) + np.float32(s * 2 - 1), rtol=1e-5, atol=1e-6)
        assert root == np.sqrt(np.float64(s))
        assert third == s / 3
    assert len(traced) == 1
    assert len(f._compiled) == 1


def test_floats_are_weak() -> None:
    halves, doubles, ints = A.astype(np.float16), A.astype(np.float64), A.astype(np.int32)
    for array in (halves, A, doubles, ints, A > 0):
        same(lambda a, s: a * s, array, 0.1)
        same(lambda a, s: s - a, array.astype(np.int8), 0.1)
    np.testing.assert_array_equal(rt.jit(lambda a, s: ops.multiply(a, s))(A, 0.1), A * np.float32(0.1))
    np.testing.assert_array_equal(
        rt.jit(lambda a, s: ops.where(a > s, s, a))(A, 0.1), np.where(A > 0.1, np.float32(0.1), A)
    )
    with pytest.raises(DTypeError, match="the float 's' does not suit dtype int32"):
        rt.jit(lambda a, s: ops.multiply(a, s))(ints, 0.5)


def test_floats_are_arrays_of_float64_to_products() -> None:
    """Only numpy's ufuncs take Python numbers as weak; its products make arrays of them first."""
    for product in (np.dot, np.inner, np.outer):
        same(lambda a, s, product=product: product(a, s), A[0], 2.5)


def test_floats_that_decide_the_program_are_static() -> None:
    def leaky(a: Any, alpha: float) -> Any:
        return ops.leaky_relu(a, alpha=alpha)

    with pytest.raises(CallError, match=r"attr 'alpha' of leaky_relu.*Python float 'alpha'.*static_argnames"):
        rt.jit(leaky)(A, 0.5)
    for jitted in (rt.jit(leaky, static_argnames="alpha"), rt.jit(leaky, static_argnums=[1])):
        for alpha in (0.5, -0.0, 0.0, math.nan):
            expected = np.where(A >= 0, A, A * np.float32(alpha))
            np.testing.assert_array_equal(jitted(A, alpha), expected)
            np.testing.assert_array_equal(np.signbit(jitted(A, alpha=alpha)), np.signbit(expected))
        assert len(jitted._compiled) == 8  # four values, by position and by name
    chosen = rt.jit(lambda a, function: function(a), static_argnums=1)
    np.testing.assert_array_equal(chosen(A, np.negative), -A)
    with pytest.raises(CallError, match="must have a hash, found ndarray"):
        chosen(A, A)

    @rt.jit(static_argnames=("power",))
    def raised(a: Any, power: float = 2.0) -> Any:
        return a**power if power > 1 else a

    np.testing.assert_array_equal(raised(A, power=1.0), A)
    np.testing.assert_array_equal(raised(A), A * A)


class Axis(enum.IntEnum):
    ROWS = 0
    COLUMNS = 1


class Number(int):
    def __repr__(self) -> str:
        return "Number"


def test_what_decides_the_program_is_told_apart_by_type_and_value() -> None:
    f = rt.jit(lambda a, axis: ops.sum(a, axis=axis))
    for axis in (0, 1, Axis.ROWS, Axis.COLUMNS, Number(0), Number(1)):
        np.testing.assert_array_equal(f(A, axis), A.sum(int(axis)))
    g = rt.jit(lambda a, how, by: a.sum(axis=0) if how == "rows" else a[by])
    np.testing.assert_array_equal(g(A, "rows", None), A.sum(0))
    np.testing.assert_array_equal(g(A, "cut", slice(1, None)), A[1:])
    np.testing.assert_array_equal(g(A, "cut", slice(0, 1)), A[:1])
    h = rt.jit(lambda a, flag: a + 1 if flag is True else a + 10 if flag == 1 else a)
    np.testing.assert_array_equal([h(A, True)[0, 0], h(A, 1)[0, 0], h(A, 0)[0, 0]], [2, 11, 1])
    cast = rt.jit(lambda a, dtype: a.astype(dtype))
    assert [cast(A, d).dtype for d in (np.int8, np.dtype("int16"), "int32")] == [np.int8, np.int16, np.int32]
    with pytest.raises(CallError, match="found object"):
        f(A, object())


def test_the_signatures_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_CACHE_MEMORY", "0")
    f = rt.jit(lambda a, k: a + k)
    for k in (*range(9), 1, 9, 1, 10):
        f(A, k)
    kept = [key[1] for key in f._compiled]  # type: ignore[index]  # a tuple for each argument
    assert kept == [(int, k) for k in (4, 5, 6, 7, 8, 9, 1, 10)]


def test_jitted_functions_inside_others_and_in_expressions() -> None:
    inner = rt.jit(lambda a, s: a * s)
    outer = rt.jit(lambda a, s: inner(a, s) + inner(a, 2.0))
    np.testing.assert_array_equal(outer(A, 0.5), A * 0.5 + A * 2)
    x = rt.var("x", rt.TensorType((2,), "float32"))
    expr = rt.jit(lambda a: a == 1.0)(x)
    assert isinstance(expr, rt.Expr)
    assert str(expr).endswith("equal(%x, 1.0f)")


def test_bfloat16_is_not_widened_by_numbers() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="the extra bfloat16 is not installed")
    halves = A.astype(ml_dtypes.bfloat16)
    for function in (lambda a: a * 2.0, lambda a: a + 1, lambda a: np.exp(a), lambda a: a.sum(axis=0)):
        assert rt.jit(function)(halves).dtype == ml_dtypes.bfloat16
    assert rt.jit(lambda a, s: a * s)(halves, 0.5).dtype == ml_dtypes.bfloat16
    assert rt.jit(lambda a: a * A)(halves).dtype == np.float32
