"""Segments behind results whose sizes depend on data: compiled once for all sizes, or for each where that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.run.compile.kernel.lazy_kernel import LazyKernel

X, Y = ir.var("x", shape=(12,)), ir.var("y", shape=(12,))


def filled(number: int) -> np.ndarray:
    """As many elements that are not 0."""
    return (np.arange(12) < number).astype(np.float32)


def compiled_for(executable: rt.Executable, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The types of the operands that late kernels compile for from now on."""
    found: list[str] = []
    for kernel in executable.compiled:
        if isinstance(kernel, LazyKernel):
            plain = kernel._compiled

            def counted(segment: ir.Function, plain: object = plain) -> object:
                found.append(", ".join(str(param.checked_type) for param in segment.params))
                return plain(segment)  # type: ignore[operator]

            monkeypatch.setattr(kernel, "_compiled", counted)
    return found


def test_one_kernel_serves_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    condition = ir.Var("c", rt.TensorType((), "bool"))  # with a branch it is not cut into native parts
    places = ops.cast(ops.argwhere(X), dtype="float32")
    body = ops.multiply(
        ops.sum(ops.tanh(places + 1.0), axis=1), ir.If(condition, ir.const(1.0), ir.const(2.0))
    )
    executable = rt.build(ir.Function((condition, X), body))
    types = compiled_for(executable, monkeypatch)
    for number in (5, 0, 1, 12, 7):
        wanted = 2 * np.tanh(np.arange(number, dtype=np.float32) + 1)
        np.testing.assert_allclose(executable.run([np.array(False), filled(number)]), wanted, rtol=1e-6)
    assert len(types) == 1, types


def test_sizes_that_meet_are_checked() -> None:
    executable = rt.build(ir.Function((X, Y), ops.add(ops.argwhere(X), ops.argwhere(Y))))
    for one, other in ((3, 3), (3, 1), (1, 4), (0, 1)):
        wanted = np.argwhere(filled(one)) + np.argwhere(filled(other))
        np.testing.assert_array_equal(executable.run([filled(one), filled(other)]), wanted)
    with pytest.raises(OpgenError, match="broadcast"):
        executable.run([filled(3), filled(4)])
    product = rt.build(ir.Function((X, Y), ops.matmul(ops.argwhere(X), ops.argwhere(Y))))
    np.testing.assert_array_equal(product.run([filled(3), filled(1)]), np.zeros((3, 1)))
    with pytest.raises(OpgenError):
        product.run([filled(3), filled(2)])


def test_what_needs_to_know_a_size_is_compiled_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ops.reshape(ops.argwhere(X), newshape=(2, -1))
    executable = rt.build(ir.Function((X,), ops.negative(whole)))
    compiled_for(executable, monkeypatch)
    for number in (4, 6, 4):
        np.testing.assert_array_equal(executable.run([filled(number)]), -np.arange(number).reshape(2, -1))
    with pytest.raises(OpgenError):
        executable.run([filled(5)])
