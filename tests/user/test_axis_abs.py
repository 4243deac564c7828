"""The acceptance case of the main job: any rank and axis, floats bit for bit, errors at the bounds."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import AttrError, OpgenError
from opgen_runtime.run.calls import eager


def expected(data: np.ndarray, axis: int, indice: int) -> np.ndarray:
    out = data.copy()
    where = (slice(None),) * axis + (indice,)
    out[where] = np.abs(out[where])
    return out


@pytest.mark.parametrize(
    ("shape", "axis", "indice"), [((4, 4, 1), 1, 1), ((4, 4, 1), 0, 1), ((3, 3, 3), 1, 1)]
)
@pytest.mark.parametrize("kind", ["debug", "graph"])
def test_the_three_cases(shape: tuple[int, ...], axis: int, indice: int, kind: str) -> None:
    data = np.random.default_rng(0).integers(-100, 100, shape).astype("int32")
    x = rt.var("x", rt.TensorType(shape, "int32"))
    y = ops.axis_abs(x, axis=axis, indice=indice)
    assert rt.testing.run_infer_type(y).checked_type == rt.TensorType(shape, "int32")
    value = rt.create_executor(kind).evaluate(y, {x: data}).numpy()
    assert value.dtype == np.int32
    np.testing.assert_array_equal(value, expected(data, axis, indice))


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_rank_and_axis(rank: int) -> None:
    shape = (2, 3, 2, 1, 2, 2, 1, 2)[:rank]
    data = np.random.default_rng(rank).integers(-9, 9, shape).astype("int64")
    for axis in {0, rank // 2, rank - 1}:
        for indice in {0, shape[axis] - 1}:
            np.testing.assert_array_equal(
                eager.axis_abs(data, axis=axis, indice=indice), expected(data, axis, indice)
            )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kind", ["debug", "graph"])
def test_floats_are_bit_equal_to_numpy(dtype: str, kind: str) -> None:
    values = [-0.0, 0.0, -1.5, np.nan, -np.nan, np.inf, -np.inf, 6e-8, -6e-8]
    data = np.array([values, values], dtype)
    x = rt.var("x", rt.TensorType(data.shape, dtype))
    value = rt.create_executor(kind).evaluate(ops.axis_abs(x, axis=0, indice=1), {x: data}).numpy()
    assert value.tobytes() == expected(data, 0, 1).tobytes()


@pytest.mark.parametrize(
    ("axis", "indice", "parts"),
    [
        (3, 0, ["axis_abs", "axis", "3", "0 <= axis < data.ndim"]),
        (-1, 0, ["axis_abs", "axis", "-1", "0 <= axis"]),
        (0, 4, ["axis_abs", "indice", "4", "0 <= indice < data.shape[axis]"]),
        (0, -1, ["axis_abs", "indice", "-1", "0 <= indice"]),
    ],
)
def test_a_bound_is_reported_with_the_op_the_attr_and_the_value(
    axis: int, indice: int, parts: list[str]
) -> None:
    x = rt.var("x", rt.TensorType((4, 4, 1), "int32"))
    with pytest.raises(OpgenError) as caught:
        ops.axis_abs(x, axis=axis, indice=indice)
    for part in parts:
        assert part in str(caught.value)


def test_an_unknown_attr_names_the_possible_ones() -> None:
    x = rt.var("x", rt.TensorType((4, 4, 1), "int32"))
    with pytest.raises((AttrError, TypeError), match="axes"):
        ops.axis_abs(x, axes=1)  # type: ignore[call-arg]  # the mistake under test


def test_dynamic_and_unknown_dims_never_crash() -> None:
    x = rt.var("x", rt.TensorType((rt.dim("n"), rt.Any(), 3), "int32"))
    y = ops.axis_abs(x, axis=0, indice=2)
    assert len(rt.testing.run_infer_type(y).checked_type.shape) == 3
    data = np.arange(-9, 9, dtype="int32").reshape(3, 2, 3)
    np.testing.assert_array_equal(
        rt.create_executor("graph").evaluate(y, {x: data}).numpy(), expected(data, 0, 2)
    )
    with pytest.raises(OpgenError, match="indice"):
        rt.create_executor("graph").evaluate(y, {x: data[:2]})
