"""Recurrences whose steps run again in parts: their gradients are those of recurrences whose states are all kept."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import CallError, ShapeError
from opgen_runtime.declaration.evaluate import call_tensors
from opgen_runtime.declaration.part import part_attrs, part_op
from opgen_runtime.lower import tir
from opgen_runtime.lower.library import schedules
from opgen_runtime.lower.tir.nodes.visit import statements
from tests.lower.library.test_library_preserves_results import target
from tests.transform.test_loop_gradient import W, X, looped

RANDOM = np.random.default_rng(0)
N, WIDTH, H = 2, 3, 2
LENGTHS = np.array([5, 2], "int32")


def normal(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape)


def lstm(x: Any, w: Any, r: Any, h0: Any, c0: Any) -> Any:
    y, h, c = ops.lstm(x, w, r, None, LENGTHS, h0, c0, direction="bidirectional")
    return ops.sum(ops.square(y)) + ops.sum(h * c)


def gru(x: Any, w: Any, r: Any) -> Any:
    y, h = ops.gru(x, w, r, reverse=True)
    return ops.sum(ops.square(y)) + ops.sum(h)


def rnn(x: Any, w: Any, r: Any) -> Any:
    return ops.sum(ops.square(ops.rnn(x, w, r, lens=LENGTHS, activation="sigmoid")[1]))


def sums(x: Any, *_: Any) -> Any:
    return ops.sum(ops.square(ops.cumprod(x, axis=0, exclusive=True) + ops.cumsum(x, axis=0, reverse=True)))


WEIGHTS: dict[Callable[..., Any], tuple[tuple[int, ...], ...]] = {
    lstm: ((2, 4 * H, WIDTH), (2, 4 * H, H), (2, N, H), (2, N, H)),
    gru: ((3 * H, WIDTH), (3 * H, H)),
    rnn: ((H, WIDTH), (H, H)),
    sums: (),
}


@pytest.mark.parametrize(
    ("function", "steps", "every"),
    [(lstm, 7, 3), (gru, 6, 2), (rnn, 5, True), (sums, 11, 4)],
)
def test_parts_give_the_gradient_of_the_whole(function: Any, steps: int, every: int) -> None:
    arrays = [normal(steps, N, WIDTH), *[normal(*shape) for shape in WEIGHTS[function]]]
    chosen = tuple(range(len(arrays)))
    whole = rt.grad(function, chosen)(*arrays)
    parts = rt.grad(function, chosen, checkpoint=every)
    assert "part." in str(parts.trace(*arrays))
    for found, wanted in zip(parts(*arrays), whole, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("steps", "every"), [(0, True), (0, 3), (1, True), (3, 5), (5, 1), (5, False)])
def test_what_one_part_holds_is_left_whole(steps: int, every: int) -> None:
    arrays = [normal(steps, N, WIDTH), normal(H, WIDTH), normal(H, H)]
    found, wanted = (rt.grad(rnn, (0, 1, 2), checkpoint=k).trace(*arrays) for k in (every, None))
    assert str(found) == str(wanted)


def test_halves_are_added_in_float32() -> None:
    x = RANDOM.uniform(0.5, 1.0, size=(40, 2)).astype("float16")
    found = rt.grad(lambda x: ops.sum(ops.cumsum(x, axis=0)), checkpoint=True)(x)
    np.testing.assert_array_equal(found, np.repeat(np.arange(40, 0, -1), 2).reshape(40, 2).astype("float16"))


def test_gradients_of_gradients_and_values() -> None:
    arrays = [normal(5, N, WIDTH), normal(H, WIDTH), normal(H, H)]

    def bend(every: int | None) -> Any:
        return rt.grad(lambda x, w, r: ops.sum(ops.square(rt.grad(rnn, 1, checkpoint=every)(x, w, r))), 2)(
            *arrays
        )

    np.testing.assert_allclose(bend(2), bend(None), rtol=1e-11, atol=1e-12)
    value, gradient = rt.value_and_grad(rnn, checkpoint=2)(*arrays)
    other, pull = rt.vjp(rnn, *arrays, checkpoint=2)
    assert value == other
    np.testing.assert_allclose(pull(np.float64(1.0))[0], gradient, rtol=1e-13)


def test_loops_that_state_no_parts_have_them_too() -> None:
    found = rt.grad(looped, checkpoint=True)
    text = str(found.trace(X, W))
    assert text == str(rt.grad(lambda x, w: looped(x, w, checkpoint=3)).trace(X, W))
    np.testing.assert_array_equal(found(X, W), rt.grad(looped)(X, W))


@pytest.mark.parametrize("every", [0, -2, 2.0, "all"])
def test_no_count_of_steps(every: Any) -> None:
    for make in (
        lambda: rt.grad(rnn, checkpoint=every)(normal(2, N, WIDTH), normal(H, WIDTH), normal(H, H)),
        lambda: rt.vjp(rnn, normal(2, N, WIDTH), normal(H, WIDTH), normal(H, H), checkpoint=every),
    ):
        with pytest.raises(
            CallError, match=rf"of rnn: checkpoint is {every!r}, expected a count of at least 1"
        ):
            make()


def largest(steps: int, every: int | None) -> int:
    """The most elements that the temporaries of an op of a gradient have."""
    weights = [np.zeros(shape) for shape in ((4, 3), (4, 4))]
    program = rt.grad(lambda *p: ops.sum(ops.square(ops.rnn(*p)[1])), (1, 2), checkpoint=every)
    traced = program.trace(np.zeros((steps, 2, 3)), *weights)
    module = traced if isinstance(traced, rt.IRModule) else rt.IRModule.from_expr(traced)
    found = []
    for function in module.functions.values():
        for call in ir.post_order(function):
            if isinstance(call, rt.Call) and isinstance(call.op, rt.Op) and "rnn" in call.op.name:
                made = call_tensors(call.op, call.attrs, [arg.checked_type for arg in call.args])
                func = tir.lower(
                    schedules.generic(made.outputs, target("x86-64-v3")),
                    made.inputs,
                    made.outputs,
                    "kernel",
                )
                body = tir.run_phases(func).body
                found.append(
                    sum(int(s.buffer.shape[0]) for s in statements(body) if isinstance(s, tir.Allocate))
                )
    return max(found)


def test_temporaries_have_as_many_rows_as_a_part() -> None:
    whole, parts, more = largest(1024, None), largest(1024, 32), largest(4096, 32)
    assert parts < whole / 8
    assert more == parts


def test_a_part_op_is_an_op() -> None:
    declaration = rt.Op.get("rnn").get_attr("declaration")
    x, w, r = (rt.var("x", rt.TensorType(shape)) for shape in ((7, N, WIDTH), (H, WIDTH), (H, H)))
    call = ops.rnn(x, w, r)
    attrs = part_attrs(declaration, call.attrs, 3)
    assert pickle.loads(pickle.dumps(attrs)) == attrs
    start = rt.var("start", rt.TensorType((1, N, H)))
    number = rt.var("number", rt.TensorType((), "int64"))
    given = (*call.args, *[rt.Tuple(())] * (5 - len(call.args)))
    part = rt.Call(part_op(declaration), (*given, rt.Tuple((start,)), number), attrs)
    assert isinstance(part.checked_type, rt.TupleType)
    assert [str(getattr(t, "shape", t)) for t in part.checked_type.fields] == [
        f"(1, {N}, {H})",
        f"(7, {N}, {H})",
        f"({N}, {H})",
    ]
    wrong = rt.var("start", rt.TensorType((2, N, H)))
    with pytest.raises(
        ShapeError, match=r"part.rnn: start 0 is Tensor\[\(2, 2, 2\), float32\], expected Tensor"
    ):
        _ = rt.Call(part_op(declaration), (*given, rt.Tuple((wrong,)), number), attrs).checked_type
