"""Eager ops and compiled functions."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import AttrError, CallError, DTypeError, ExecutorError, ShapeError
from opgen_runtime.run.calls import eager
from opgen_runtime.run.calls.eager import eager_op
from opgen_runtime.transform import FuseOps, InferType, Sequential

A = np.array([[1.0, -2.0, 3.0]], np.float32)


def test_eager_ops_take_arrays_and_give_arrays() -> None:
    np.testing.assert_array_equal(eager.add(A, A), A + A)
    np.testing.assert_array_equal(eager.axis_abs(A, axis=1, indice=1), np.abs(A))
    np.testing.assert_array_equal(eager.axis_abs(A, 1, 1), np.abs(A))
    np.testing.assert_array_equal(eager.sum(data=A, axis=[1], keepdims=True), [[2.0]])
    assert eager.sum(A).shape == ()
    assert eager.__dir__() == dir(eager)
    assert "axis_abs" in dir(eager)
    assert eager.add.__doc__ == rt.Op.get("add").description


def test_python_numbers_are_weak_operands_and_are_not_compiled_anew() -> None:
    for number in (2, 0.5, -1.5):
        np.testing.assert_array_equal(eager.multiply(A, number), A * np.float32(number))
        np.testing.assert_array_equal(eager.subtract(number, A), np.float32(number) - A)
    compiled = len(eager_op.compiled)
    eager.multiply(A, 7.25)
    assert len(eager_op.compiled) == compiled
    assert eager.add(np.uint8([250]), 10)[0] == 4
    with pytest.raises(DTypeError, match="256 does not fit dtype uint8"):
        eager.add(np.uint8([1]), 256)
    with pytest.raises(DTypeError, match="does not suit"):
        eager.add(np.int32([1]), 0.5)


def test_signatures_tell_attrs_apart_exactly() -> None:
    data = np.arange(4, dtype=np.int32).reshape(2, 2)
    assert eager.sum(data, axis=0).shape == (2,)
    assert eager.sum(data, axis=0, keepdims=True).shape == (1, 2)
    assert eager.sum(data, axis=None).shape == ()
    with pytest.raises(AttrError, match="keepdims"):
        eager.sum(data, axis=0, keepdims=1)  # True is compiled already, 1 is not a bool


def test_any_layout_of_memory() -> None:
    wide = np.arange(24, dtype=np.float32).reshape(4, 6)
    raw = np.zeros(4 * 6 + 1, np.uint8)[1:].view(np.float32)
    raw[...] = 3
    for given in (wide.T, wide[::2, ::-1], wide.astype(">f4"), raw, wide[0, 0], np.broadcast_to(A, (4, 3))):
        np.testing.assert_array_equal(eager.negative(given), -np.asarray(given))


def test_out() -> None:
    out = np.zeros_like(A)
    assert eager.add(A, 1, out=out) is out
    np.testing.assert_array_equal(out, A + 1)
    eager.add(out, out, out=out)
    np.testing.assert_array_equal(out, (A + 1) * 2)
    strided = np.zeros((1, 6), np.float32)[:, ::2]
    eager.exp(A, out=strided)
    np.testing.assert_allclose(strided, np.exp(A), rtol=1e-6)
    with pytest.raises(ExecutorError, match="output"):
        eager.add(A, A, out=np.zeros((1, 3)))
    with pytest.raises(ExecutorError, match="output"):
        eager.add(A, A, out=np.zeros((3, 1), np.float32))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: eager.add(A),
            CallError,
            "add: missing argument 'rhs'|add: missing argument 'b'|missing argument",
        ),
        (lambda: eager.add(A, A, A), CallError, "has no attrs"),
        (
            lambda: eager.add(A, "text"),
            CallError,
            "add: argument 'rhs' must be an array or a number, found str",
        ),
        (
            lambda: eager.add([1.0], A),
            CallError,
            "argument 'lhs' must be an array.*found list; numpy.asarray makes one",
        ),
        (
            lambda: eager.concatenate([A, "b"]),
            CallError,
            r"argument 'data'\[1\] must be an array or a number, found str",
        ),
        (
            lambda: eager.exp(np.array(["a"])),
            DTypeError,
            "an array has dtype <U1; expected one of bool, int8",
        ),
        (lambda: eager.sum(A, data=A), CallError, "argument 'data' is given twice"),
        (lambda: eager.sum(A, axes=1), AttrError, "unknown attr 'axes'"),
        (lambda: eager.sum(A, axis=2), AttrError, "axis"),
        (lambda: eager.add(A, A.astype(np.float64)), DTypeError, "add"),
        (lambda: eager.add(A, np.zeros((2, 2), np.float32)), ShapeError, "add"),
        (lambda: eager.sinn(A), AttributeError, r"no op 'sinn'; did you mean 'sin'"),
    ],
)
def test_mistakes_are_named_before_anything_runs(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()  # type: ignore[operator]  # a table of functions


def test_jit_compiles_a_chain_into_one_kernel() -> None:
    f = rt.jit(lambda a, b, c: ops.tanh(a * b + c) * ops.sigmoid(a))
    np.testing.assert_allclose(f(A, A, A), np.tanh(A * A + A) / (1 + np.exp(-A)), rtol=1e-5)
    module = Sequential([InferType(), FuseOps()])(rt.IRModule.from_expr(f.trace(A, A, A)))
    assert rt.to_text(module).count("Primitive=1") == 1
    assert [p.name_hint for p in f.trace(A, A, A).params] == ["a", "b", "c"]


def test_jit_traces_once_for_each_signature() -> None:
    traced = []

    @rt.jit
    def f(a: object, scale: object = 2.0) -> object:
        """Scales."""
        traced.append(scale)
        return a * scale  # type: ignore[operator]  # expressions while tracing

    for array in (A, A + 1, A[0], A, A.astype(np.float64)):
        np.testing.assert_array_equal(f(array), array * 2)
    assert len(traced) == 3
    np.testing.assert_array_equal(f(A, 3), A * 3)
    np.testing.assert_array_equal(f(A, scale=3), A * 3)
    assert traced[3:] == [3, 3]
    assert f.__doc__ == "Scales."


def test_jit_structures_of_arguments_and_results() -> None:
    @rt.jit
    def f(pair: object, named: object) -> object:
        x, y = pair  # type: ignore[misc]
        return x + y, (ops.sum(named["z"]), 1.5), x  # type: ignore[index]

    total, (s, constant), same = f((A, A), {"z": A})
    np.testing.assert_array_equal(total, A + A)
    assert (float(s), float(constant)) == (2.0, 1.5)
    assert not np.shares_memory(same, A)
    with pytest.raises(CallError, match="gives tensors, or tuples, lists and dicts of them, found NoneType"):
        rt.jit(lambda a: None)(A)
    with pytest.raises(CallError, match="takes arrays, numbers and texts, found object"):
        f(A, object())


def test_jitted_functions_compose() -> None:
    inner = rt.jit(lambda a: ops.exp(a))
    outer = rt.jit(lambda a: inner(a) + inner(a * 2))
    np.testing.assert_allclose(outer(A), np.exp(A) + np.exp(2 * A), rtol=1e-5)


def test_signs_of_zero_constants_are_told_apart() -> None:
    f = rt.jit(lambda a, s: ops.multiply(a, 0.0) + s)
    assert not np.signbit(f(-A[:, :1], 0.0))
    assert np.signbit(f(-A[:, :1], -0.0))


def test_importing_is_lazy_and_needs_none_of_the_generator() -> None:
    program = (
        "import sys\nimport opgen_runtime as rt\n"
        "assert 'opgen_runtime.run.executor' not in sys.modules and 'llvmlite' not in sys.modules\n"
        "assert rt.Op.get('axis_abs').name == 'axis_abs'\n"
        "assert rt.get_global_func('op._make.exp').__name__ == 'exp'\n"
        "x = rt.var('x', rt.TensorType((2,), 'float32'))\n"
        "assert str(x + 1).endswith('add(%x, 1.0f)'), str(x + 1)\n"
        "import numpy as np\n"
        "from opgen_runtime import eager\n"
        "eager.exp(np.ones(2, np.float32))\n"
        "rt.create_executor('debug').evaluate(x + 1, {x: np.ones(2, np.float32)})\n"
        "rt.testing, rt.jit, rt.Target\n"
        "found = {'jinja2', 'yaml', 'pydantic', 'opgen', 'click', 'pytest'} & set(sys.modules)\n"
        "assert not found, found\n"
        "assert set(rt.__all__) == set(dir(rt))\n"
        "for name in rt.__all__: getattr(rt, name)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_no_garbage_is_looked_for_while_modules_are_imported() -> None:
    program = (
        "import gc\nimport opgen_runtime as rt\n"
        "before, searches = gc.get_threshold(), gc.get_stats()[0]['collections']\n"
        "rt.ops, rt.jit\n"
        "assert gc.get_stats()[0]['collections'] - searches <= 5\n"
        "assert gc.get_threshold() == before\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_who_compiles_a_function_imports_no_gradients() -> None:
    program = (
        "import sys\nimport numpy as np\nimport opgen_runtime as rt\n"
        "rt.jit(lambda a: a * 2 + 1)(np.ones(3, np.float32))\n"
        "late = ('transform.gradient', 'transform.loop_gradient', 'compute.te.derivative', 'run.calls.tracing.loops')\n"
        "found = [name for name in late if f'opgen_runtime.{name}' in sys.modules]\n"
        "assert not found, found\n"
        "assert rt.grad(lambda a: (a * a).sum())(np.ones(3, np.float32)).sum() == 6\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_unknown_names_of_the_package() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rt.nothing  # noqa: B018  (the point of the test)
