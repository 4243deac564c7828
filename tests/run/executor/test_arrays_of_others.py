"""Arrays of other libraries are taken everywhere, without copies where layouts allow, and given back in their kind."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import CallError, DTypeError, ExecutorError
from opgen_runtime.ir import admit
from opgen_runtime.run.calls import eager

A = np.arange(6, dtype=np.float32).reshape(2, 3)


class ByDlpack:
    """As torch's tensors: the protocol alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.held = array

    def __dlpack__(self, **options: Any) -> object:
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.held.__dlpack_device__()


class ByInterface:
    def __init__(self, array: np.ndarray) -> None:
        self.held = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.held.__array_interface__


class ByArray:
    """As pandas' series."""

    def __init__(self, array: np.ndarray) -> None:
        self.held = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.held if dtype is None else self.held.astype(dtype)


class Reluctant(ByDlpack):
    """As a tensor that needs a gradient, or is on another device."""

    def __dlpack__(self, **options: Any) -> object:
        raise BufferError("Can't export tensors that require gradient")


KINDS = (ByDlpack, ByInterface, ByArray)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("array", [A, A[:, ::2], A.T, A[:0], A[0, 0], A > 2, A.astype(np.int8)])
def test_they_are_taken_without_a_copy(kind: Any, array: Any) -> None:
    array = np.asarray(array)
    found = admit(kind(array))
    assert type(found) is np.ndarray
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)
    assert np.shares_memory(found, array) or not array.size


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_to_run_takes_them(kind: Any) -> None:
    given = kind(A)
    np.testing.assert_array_equal(eager.add(given, given), A + A)
    np.testing.assert_array_equal(eager.concatenate([given, A]), np.concatenate([A, A]))
    np.testing.assert_array_equal(rt.jit(lambda a, b: a * 2 + b["x"][0])(given, {"x": [given]}), A * 3)
    np.testing.assert_array_equal(rt.jit(lambda a: a + given)(A), A + A)
    x = rt.var("x", rt.TensorType((2, 3), "float32"))
    for executor in ("debug", "graph"):
        result = rt.create_executor(executor).evaluate(ops.add(x, given), {x: given})
        np.testing.assert_array_equal(np.asarray(result), A + A)
    np.testing.assert_array_equal(rt.const(np.asarray(admit(given))).data, A)


def test_sessions_of_onnx_take_them() -> None:
    onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
    from opgen_runtime.frontend import onnx as frontend

    helper = onnx.helper
    info = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2, 3]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", info[:1], info[1:])
    program = frontend.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    for kind in KINDS:
        np.testing.assert_array_equal(program([kind(A)])[0], A)


def test_what_cannot_be_taken_is_named() -> None:
    with pytest.raises(CallError, match=r"argument 'rhs', a Reluctant, cannot be taken.*require gradient"):
        eager.add(A, Reluctant(A))
    with pytest.raises(CallError, match="must be an array or a number, found type"):
        eager.add(A, np.ndarray)
    with pytest.raises(CallError, match="masked array"):
        eager.exp(np.ma.masked_greater(A, 2))
    with pytest.raises(DTypeError, match="dtype object"):
        eager.exp(ByArray(np.array([1, None])))
    x = rt.var("x", rt.TensorType((2, 3), "float32"))
    with pytest.raises(ExecutorError, match="variable 'x', a Reluctant"):
        rt.create_executor("graph").evaluate(x, {x: Reluctant(A)})


@pytest.mark.parametrize("op", [eager.exp, eager.sort, eager.softmax])
def test_out_of_the_other_byte_order(op: Any) -> None:
    swapped = np.zeros(A.shape, A.dtype.newbyteorder())
    assert op(A.astype(swapped.dtype), out=swapped) is swapped
    np.testing.assert_allclose(swapped, op(A), rtol=1e-6)
    for wrong in (np.zeros((1, 2, 3), ">f4"), np.zeros((2, 3), ">f8"), [A]):
        with pytest.raises(ExecutorError, match=r"must be (float32\[2, 3\]|an array), found"):
            op(A, out=wrong)


def test_several_results_into_the_other_byte_order() -> None:
    parts = tuple([np.zeros((2, 1), ">f4") for _ in range(3)])
    assert all(a is b for a, b in zip(eager.split(A, 3, axis=1, out=parts), parts, strict=True))
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), A)


class Namespace:
    """The array namespace of a library."""

    @staticmethod
    def from_dlpack(array: np.ndarray) -> ByDlpack:
        return ByDlpack(np.from_dlpack(array))


class WithNamespace(ByDlpack):
    def __array_namespace__(self) -> type[Namespace]:
        return Namespace


def test_results_in_the_kind_of_others() -> None:
    assert rt.asarray(A) is A
    assert rt.asarray(ByArray(A), like=A) is A
    made = rt.asarray(A, like=WithNamespace(A))
    assert isinstance(made, ByDlpack)
    assert np.shares_memory(made.held, A)
    locked = A.copy()
    locked.flags.writeable = False
    np.testing.assert_array_equal(rt.asarray(locked, like=WithNamespace(A)).held, A)
    with pytest.raises(CallError, match="ByArray cannot be made: its library has no `from_dlpack`"):
        rt.asarray(A, like=ByArray(A))


@pytest.mark.parametrize("library", ["torch", "jax.numpy", "pandas"])
def test_real_libraries(library: str) -> None:
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    given = {"torch": "tensor", "jax.numpy": "asarray", "pandas": "DataFrame"}[library]
    theirs = getattr(module, given)(A.copy())
    np.testing.assert_array_equal(eager.add(theirs, 1), A + 1)
    np.testing.assert_array_equal(rt.jit(lambda a: a.T @ a)(theirs), A.T @ A)
    if library != "pandas":
        assert type(rt.asarray(eager.add(theirs, 1), like=theirs)) is type(theirs)
    assert library in sys.modules
