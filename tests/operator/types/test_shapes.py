"""Dims, broadcasting, and the classes of types."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from opgen_runtime.base.arith import Any, dim
from opgen_runtime.base.errors import DTypeError, ShapeError
from opgen_runtime.operator.types import (
    FuncType,
    IncompleteType,
    TensorType,
    TupleType,
    TypeVar,
    broadcast,
    broadcast_pair,
    certainly_different,
)


@given(mutually_broadcastable_shapes(num_shapes=3, max_dims=4))
def test_broadcast_agrees_with_numpy(case: object) -> None:
    shapes = case.input_shapes  # type: ignore[attr-defined]
    assert broadcast(*shapes) == case.result_shape  # type: ignore[attr-defined]


@given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), max_size=3))
def test_broadcast_refuses_what_numpy_refuses(a: list[int], b: list[int]) -> None:
    try:
        expected = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(ShapeError, match="neither is 1"):
            broadcast(a, b)
    else:
        assert broadcast(a, b) == expected


def test_broadcast_symbols() -> None:
    n, m = dim("n"), dim("m")
    assert broadcast((n, 1), (1, m)) == (n, m)
    assert broadcast((n,), (n,)) == (n,)
    assert broadcast((n,), (5,)) == (5,)
    (met,) = broadcast((n,), (m,))
    assert str(met) == "m if n == 1 else n"
    assert broadcast_pair(met) == (n, m)
    assert broadcast_pair(n) is None
    assert broadcast((met,), (m,)) == broadcast((n,), (met,)) == (met,)
    assert broadcast((10, 20), (10, 1)) == (10, 20)
    assert broadcast() == ()
    unknown = Any()
    assert broadcast((unknown,), (1,)) == (unknown,)
    assert broadcast((unknown,), (n,)) == (unknown,)
    assert broadcast((unknown,), (4,)) == (4,)


def test_certainly_different() -> None:
    n, m = dim("n"), dim("m")
    assert certainly_different(3, 4)
    assert not certainly_different(3, 3)
    assert certainly_different(n, n + 1)
    assert certainly_different(n + 3, 2)
    assert not certainly_different(n, m)
    assert not certainly_different(n + 1, 1)
    assert not certainly_different(Any(), 3)


def test_tensor_types() -> None:
    n = dim("n")
    assert str(TensorType((3, 3), "int32")) == "Tensor[(3, 3), int32]"
    assert str(TensorType((n,), "bool")) == "Tensor[(n,), bool]"
    assert str(TensorType()) == "Tensor[(), float32]"
    assert str(TensorType((Any(), 2))) == "Tensor[(?, 2), float32]"
    assert TensorType((np.int64(3), n)) == TensorType([3, n], "float32")
    assert hash(TensorType((3, n + 1))) == hash(TensorType((3, n + 1)))
    assert TensorType((n + 1,)) == TensorType((n + 1,))
    assert TensorType((n,)) != TensorType((dim("n"),))
    assert TensorType((0, 3)).ndim == 2
    assert TensorType((0,)).is_static
    assert str(TensorType((n * 2 + Any(),))) == "Tensor[(?,), float32]"
    assert pickle.loads(pickle.dumps(TensorType((3, 4), "int8"))) == TensorType((3, 4), "int8")


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((-1,), "at least 0, found -1"),
        ((1.5,), "found 1.5"),
        ((True,), "an integer, found True"),
        (("n",), "found 'n'"),
    ],
)
def test_bad_dims(shape: tuple[object, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        TensorType(shape)  # type: ignore[arg-type]


def test_bad_dtypes() -> None:
    with pytest.raises(DTypeError, match="unknown dtype 'float33'; expected one of bool, int8"):
        TensorType((), "float33")
    with pytest.raises(DTypeError, match="use int64"):
        TensorType((), "index")


def test_concrete_shape() -> None:
    assert TensorType((2, 3)).concrete_shape == (2, 3)
    with pytest.raises(ShapeError, match="has the dim n, whose value is not known"):
        _ = TensorType((dim("n"),)).concrete_shape


def test_tuples_and_functions() -> None:
    a, b = TypeVar("a"), TypeVar("b")
    t = TensorType((2,))
    assert str(TupleType((t, t))) == "(Tensor[(2,), float32], Tensor[(2,), float32])"
    assert FuncType((a,), a, (a,)) == FuncType((b,), b, (b,))
    assert FuncType((a, b), a, (a, b)) != FuncType((a, b), b, (a, b))
    assert hash(FuncType((a,), a, (a,))) == hash(FuncType((b,), b, (b,)))
    assert str(FuncType((a,), TupleType((a, t)), (a,))) == "fn[a](a) -> (a, Tensor[(2,), float32])"
    assert not TupleType((t, IncompleteType("x"))).is_complete
    assert FuncType((a,), a, (a,)).instantiate([t]) == FuncType((t,), t)
