"""Kernels of loop IR that are called in traced functions: parts of the program, as ops are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import te, tir
from opgen_runtime.base.errors import (
    CallError,
    DTypeError,
    ExecutorError,
    OpgenError,
    ParseError,
    PassError,
    ShapeError,
)
from opgen_runtime.lower.tir.lowering.kernel_op import op_of
from opgen_runtime.operator.registry import KERNELS, loaded_ops, remove_op

X, W = np.arange(5, dtype="float32"), np.float32([1, 2, 3, 4, 5])


@tir.kernel("(x: float32[n], w: float32[n]) -> (y: float32[n])")
def scaled(x, w, y, n):
    for i in tir.parallel(n):
        y[i] = x[i] * w[i]


@tir.kernel("(x: float32[n, 3]) -> (y: float32[n + 1])")
def sums(x, y, n):
    y[n] = 0.0
    for i in range(n):
        total = tir.allocate((1,), "float32")
        total[0] = 0.0
        for k in range(3):
            total[0] += x[i, k]
        y[i] = total[0]


@tir.kernel("(x: float32[n]) -> (total: float32[1], running: float32[n + 1])")
def sums_so_far(x, total, running, n):
    running[0] = 0.0
    for i in range(n):
        running[i + 1] = running[i] + x[i]
    total[0] = running[n]


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    yield
    for op in loaded_ops():
        if KERNELS in op.name.split("."):
            remove_op(op.name)


def test_a_call_is_a_call_of_an_op() -> None:
    run = rt.jit(lambda x, w: scaled(x + 1, w) * 2)
    assert str(run.trace(X, W)) == (
        "fn (%x: Tensor[(5,), float32], %w: Tensor[(5,), float32]) {\n"
        "  %0 = add(%x, 1.0f);\n"
        f"  %1 = {op_of(scaled).name}(%0, %w);\n"
        "  multiply(%1, 2.0f)\n"
        "}"
    )
    np.testing.assert_array_equal(run(X, W), (X + 1) * W * 2)
    np.testing.assert_array_equal(rt.jit(scaled)(X, W), X * W)


def test_equal_kernels_are_one_op() -> None:
    assert op_of(tir.parse(str(scaled))) is op_of(scaled)
    assert op_of(tir.parse(str(scaled).replace("*", "+"))) is not op_of(scaled)


def test_text_of_a_kernel_that_was_not_called_here() -> None:
    module = rt.IRModule.from_expr(scaled(rt.var("x", shape=(5,)), rt.const(W)))
    text, name = str(module), op_of(scaled).name
    remove_op(name)
    other = op_of(tir.parse(str(scaled).replace("*", "+"))).name
    with pytest.raises(ParseError) as error:
        rt.parse_module(text)
    assert str(error.value).startswith(
        f"line 2, column 3: no op is named {name!r}: it is that of the kernel 'scaled', written by hand in the process "
        f"that printed it; of another text is {other}; an op has the name as soon as a kernel of the same text is "
        f"called here, on variables or in a traced function"
    )
    scaled(rt.var("x", shape=(2,)), rt.var("w", shape=(2,)))
    assert rt.structural_equal(rt.parse_module(text)["main"], module["main"])


def test_open_dims_are_those_of_its_buffers() -> None:
    rows = rt.dim("rows")
    x = rt.var("x", rt.TensorType((rows, 3), "float32"))
    body = sums(rt.ops.relu(x))
    assert str(body.checked_type) == "Tensor[(rows + 1,), float32]"
    built = rt.build(rt.Function((x,), body))
    assert built.why_interpreted is None
    for size in (0, 1, 4):
        found = built.run([np.ones((size, 3), "float32")])
        np.testing.assert_array_equal(found, [3.0] * size + [0.0])


def test_several_outputs_are_a_tuple() -> None:
    def shares(x):
        total, running = sums_so_far(x * 2)
        return running[1:] / total

    np.testing.assert_array_equal(rt.jit(shares)(X), X.cumsum() / X.sum())
    np.testing.assert_array_equal(rt.jit(lambda x: sums_so_far(x)[0])(X), [10])
    rows = np.stack([X, X + 1])
    wanted = [rt.jit(sums_so_far)(row) for row in rows]
    for k, found in enumerate(rt.vmap(sums_so_far)(rows)):
        np.testing.assert_array_equal(found, [each[k] for each in wanted])
    x = rt.var("x", rt.TensorType((rt.dim("n"),), "float32"))
    built = rt.build(rt.Function((x,), sums_so_far(x)))
    assert built.why_interpreted is None
    for size in (0, 3):
        np.testing.assert_array_equal(built.run([X[:size]])[1], np.append(0, X[:size].cumsum()))


def test_a_batch_is_a_loop_around_its_loops() -> None:
    rows = np.stack([X, X + 1, X + 2])
    wanted = rows * W + rows
    np.testing.assert_array_equal(rt.vmap(lambda x, w: scaled(x, w) + x, in_axes=(0, None))(rows, W), wanted)
    np.testing.assert_array_equal(rt.vmap(scaled, in_axes=1, out_axes=1)(rows.T, rows.T), (rows * rows).T)


def test_a_gradient_is_what_custom_vjp_gives() -> None:
    loss = rt.grad(lambda x, w: scaled(x, w).sum(), argnums=(0, 1))
    with pytest.raises(PassError, match=r"has no gradient for x: .*loop IR written by hand.*custom_vjp"):
        loss(X, W)
    product = rt.custom_vjp(scaled)
    product.defvjp(lambda x, w: (scaled(x, w), (x, w)), lambda r, g: (scaled(g, r[1]), scaled(g, r[0])))
    found = rt.grad(lambda x, w: product(x, w).sum(), argnums=(0, 1))(X, W)
    np.testing.assert_array_equal(found[0], W)
    np.testing.assert_array_equal(found[1], X)


def test_built_functions_are_parts_of_programs_too(tmp_path: Path) -> None:
    x = te.placeholder((5,), name="x")
    thrice = te.compute((5,), lambda i: x[i] * 3.0, name="thrice")
    for built, wanted in (
        (rt.build(scaled), lambda x: x * x - x),
        (rt.build(te.create_schedule(thrice), [thrice, x]), lambda x: x * 3 - x),
    ):
        given = len(built.inputs)
        run = rt.jit(lambda x, built=built, given=given: built(*[x] * given) - x)
        np.testing.assert_array_equal(run(X), wanted(X))
    built.save(tmp_path / "thrice.bin")
    with pytest.raises(
        ExecutorError, match=r"thrice.* has no loop IR, of which programs are made: it was loaded"
    ):
        rt.jit(rt.load_function(tmp_path / "thrice.bin"))(X)
    ordered = te.extern((5,), [x], np.sort, name="ordered")
    with pytest.raises(ExecutorError, match=r"has no loop IR.* or calls Python functions"):
        rt.jit(rt.build(te.create_schedule(ordered), [x, ordered]))(X)


WRONG: dict[str, tuple[Callable[[], object], type[OpgenError], str]] = {
    "a shape": (
        lambda: rt.jit(scaled)(X, W[:3]),
        ShapeError,
        r"scaled: w has the shape \[n\], found \[3\]; n = 5\n  at .*test_kernels.py",
    ),
    "a rank": (lambda: rt.jit(sums)(X), ShapeError, r"sums: x has the shape \[n, 3\], found \[5\]"),
    "a dtype": (
        lambda: rt.jit(scaled)(X, W.astype("int64")),
        DTypeError,
        "argument 'w' has dtype int64, expected float32",
    ),
    "operands": (lambda: rt.jit(scaled)(X), CallError, "missing argument 'w'"),
    "the result": (lambda: rt.jit(rt.build(scaled))(X, W, X), CallError, "too many arguments: expected 2"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_fit_is_refused(what: str) -> None:
    make, error, message = WRONG[what]
    with pytest.raises(error, match=message):
        make()
