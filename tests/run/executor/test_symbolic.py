"""Programs of symbolic dims: compiled once, right for all values."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.arith import Var, dim, evaluate_scalar
from opgen_runtime.base.errors import ExecutorError
from opgen_runtime.operator import TensorType
from opgen_runtime.run.compile import pipeline

N, M, K = dim("n"), dim("m"), dim("k")


def var(name: str, *shape: int | Any, dtype: str = "float32") -> ir.Var:
    return ir.Var(name, TensorType(shape, dtype))


def arrays(function: ir.Function, values: dict[Var, int], seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    found = []
    for param in function.params:
        assert isinstance(param.checked_type, TensorType)
        shape = [
            d if isinstance(d, int) else int(evaluate_scalar(d, values)) for d in param.checked_type.shape
        ]
        found.append(random.standard_normal(shape).astype(param.checked_type.dtype.numpy))
    return found


def static(function: ir.Function, given: list[np.ndarray]) -> Any:
    """What the program gives that is compiled for these shapes alone."""
    fixed = [
        var(p.name_hint, *array.shape, dtype=array.dtype.name)
        for p, array in zip(function.params, given, strict=True)
    ]
    body = ir.substitute(function.body, dict(zip(function.params, fixed, strict=True)))
    return rt.build(ir.Function(tuple(fixed), body)).run(given)


PROGRAMS = {
    "broadcast": ops.add(ops.tanh(var("x", N, 64)), var("y", 1, 64)),
    "rows": ops.add(var("x", N, K), var("y", K)),
    "matmul": ops.matmul(var("x", N, K), var("w", K, M)),
    "dense": ops.relu(ops.add(ops.dense(var("x", N, K), var("w", 48, K)), var("b", 48))),
    "batched": ops.matmul(var("x", N, 9, K), var("w", N, K, M)),
    "softmax": ops.softmax(var("x", N, K), axis=1),
    "layer_norm": ops.layer_norm(var("x", N, K, 24), var("g", 24), var("b", 24)),
    "reshape": ops.reshape(ops.exp(var("x", N, K, 12)), newshape=(0, -1, 4)),
    "concatenate": ops.concatenate([var("x", N, 8), var("y", M, 8)], axis=0),
    "transpose": ops.transpose(var("x", N, K, M), axes=(2, 0, 1)),
    "reductions": ops.add(ops.sum(var("x", N, K), axis=0), ops.max(var("x2", M, K), axis=0)),
    "conv2d": ops.relu(ops.conv2d(var("x", N, 8, K, K), var("w", 16, 8, 3, 3), padding=(1, 1, 1, 1))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_symbolic_equals_static(name: str) -> None:
    body = PROGRAMS[name]
    function = ir.Function(tuple(ir.free_vars(body)), body)
    executable = rt.build(function)

    @settings(max_examples=3)
    @given(*[st.integers(1, 40)] * 3)
    def compare(n: int, m: int, k: int) -> None:
        values = arrays(function, {N: n, M: m, K: k})
        np.testing.assert_allclose(executable.run(values), static(function, values), rtol=2e-5, atol=2e-5)

    compare()


def encoder(width: int = 32, heads: int = 4, layers: int = 2) -> ir.Function:
    """A transformer encoder over (batch, sequence, width)."""
    batch, sequence = dim("batch"), dim("sequence")
    x = var("x", batch, sequence, width)
    params: list[ir.Var] = [x]

    def param(*shape: int) -> ir.Var:
        params.append(var(f"w{len(params)}", *shape))
        return params[-1]

    def split(h: ir.Expr) -> ir.Expr:
        return ops.transpose(ops.reshape(h, newshape=(0, 0, heads, width // heads)), axes=(0, 2, 1, 3))

    h: ir.Expr = x
    for _ in range(layers):
        q, k, v = (split(ops.dense(h, param(width, width))) for _ in range(3))
        scores = ops.matmul(q, ops.transpose(k, axes=(0, 1, 3, 2)))
        mixed = ops.matmul(ops.softmax(ops.multiply(scores, ir.const((width / heads) ** -0.5, "float32"))), v)
        joined = ops.reshape(ops.transpose(mixed, axes=(0, 2, 1, 3)), newshape=(0, 0, width))
        h = ops.layer_norm(ops.add(h, ops.dense(joined, param(width, width))), param(width), param(width))
        inner = ops.gelu(ops.add(ops.dense(h, param(4 * width, width)), param(4 * width)))
        h = ops.layer_norm(ops.add(h, ops.dense(inner, param(width, 4 * width))), param(width), param(width))
    return ir.Function(tuple(params), h)


def test_an_encoder_compiles_once_and_serves_every_batch_and_sequence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[object] = []
    plain = pipeline.steps.codegen.optimise_and_compile
    monkeypatch.setattr(
        pipeline.steps.codegen, "optimise_and_compile", lambda *args: compiled.append(args) or plain(*args)
    )
    monkeypatch.setenv("OPGEN_CACHE_DIR", "")
    pipeline.forget_kernels()
    function = encoder()
    weights = arrays(ir.Function(function.params[1:], function.body), {})
    executable = rt.build(function, dict(zip(function.params[1:], weights, strict=True)))
    assert executable.inputs == ("x",)
    count = len(compiled)
    assert count
    found = {}
    for batch, sequence in ((1, 32), (2, 77), (8, 128)):
        x = np.random.default_rng(batch).standard_normal((batch, sequence, 32)).astype(np.float32)
        found[batch] = x, executable.run([x])
    assert len(compiled) == count
    x, wanted = found[2]
    np.testing.assert_array_equal(executable.run([x]), wanted)
    np.testing.assert_allclose(wanted, static(function, [x, *weights]), rtol=1e-4, atol=1e-4)


def test_what_does_not_fit_the_dims_is_refused() -> None:
    x, y = var("x", N, K), var("y", K, M)
    executable = rt.build(ir.Function((x, y), ops.matmul(x, y)))
    a, b = np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)
    with pytest.raises(ExecutorError, match="extent 4, but dim 'k' is 3"):
        executable.run([a, b])
    assert executable.run([a, b[:3]]).shape == (2, 5)
    assert executable.run([a[:0], b[:3]]).shape == (0, 5)


def test_dims_that_no_operand_of_a_kernel_tells(tmp_path: Path) -> None:
    """A reshape back to the dims of the program follows values of which they are no whole dims."""
    x = var("x", N, K, M)
    flat = ops.cumsum(ops.reshape(x, newshape=(-1,)), axis=0)
    again = ops.reshape(ops.exp(flat), newshape=(N, 1, M), allowzero=True)
    executable = rt.build(ir.Function((x,), ops.transpose(again, axes=(0, 2, 1))))
    assert executable.why_interpreted is None
    assert executable.explain().splitlines()[-2] == "%4 = opgen_exp_reshape_transpose(%2, %0)"
    executable.save(tmp_path / "saved")
    for each in (executable, rt.load(tmp_path / "saved")):
        for n, m in ((1, 16), (3, 40), (2, 13), (0, 3)):
            given = np.random.default_rng(n).random((n, 1, m), np.float32) / 16
            wanted = np.exp(np.cumsum(given)).reshape(n, 1, m).transpose(0, 2, 1)
            np.testing.assert_allclose(each.run([given]), wanted, rtol=1e-5)
        with pytest.raises(
            ExecutorError, match=r"it requires n \* m == n \* k \* m .* but n is 2 and m is 3"
        ):
            each.run([np.ones((2, 2, 3), np.float32)])


def served(executable: rt.Executable, like: rt.Executable) -> None:
    """Sizes in turns, larger than those before, and smaller; each sequence of a batch as if it were alone."""
    for batch, sequence in ((1, 32), (3, 77), (1, 5), (2, 100)):
        x = np.random.default_rng(batch).standard_normal((batch, sequence, 32)).astype(np.float32)
        found = executable.run([x])
        for k in range(batch):
            np.testing.assert_allclose(found[k : k + 1], like.run([x[k : k + 1]]), rtol=1e-4, atol=1e-4)


def test_programs_of_symbolic_dims_are_saved_and_pickled(tmp_path: Path) -> None:
    function = encoder(layers=1)
    weights = arrays(ir.Function(function.params[1:], function.body), {})
    executable = rt.build(function, dict(zip(function.params[1:], weights, strict=True)))
    assert executable.why_interpreted is None
    executable.save(tmp_path / "encoder")
    loaded = rt.load(tmp_path / "encoder")
    assert loaded.explain().splitlines()[:3] == [
        "input x: float32[batch, sequence, 32]",
        "dim batch: any size, scheduled for 64",
        "dim sequence: any size, scheduled for 64",
    ]
    served(loaded, executable)
    served(pickle.loads(pickle.dumps(loaded)), executable)
    x = np.zeros((2, 7, 32), np.float32)
    with ThreadPoolExecutor(4) as pool:  # each call has an arena of its own
        for found in pool.map(loaded.run, [[x]] * 16):
            np.testing.assert_array_equal(found, loaded.run([x]))
    assert {cost.calls for cost in loaded.profile([x], runs=2).kernels} >= {2}


def test_the_graph_runtime_takes_any_size() -> None:
    x, y = var("x", N, 4), var("y", N, 4)
    runtime = rt.GraphRuntime(rt.build(ir.Function((x, y), ops.add(ops.exp(x), y))))
    assert runtime.get_input_info()[0] == {"x": (-1, 4), "y": (-1, 4)}
    for rows in (2, 5, 3):
        a = np.ones((rows, 4), np.float32)
        runtime.run(x=a, y=a)
        np.testing.assert_allclose(runtime.get_output(0).numpy(), np.exp(a) + a, rtol=1e-6)
    with pytest.raises(ExecutorError, match=r"input 'x' must be float32\[n, 4\], found float32\[2, 3\]"):
        runtime.set_input("x", np.ones((2, 3), np.float32))


def test_hints_decide_how_and_not_what() -> None:
    """The same program scheduled for small, odd and large dims."""
    values = {}
    for hint in (1, 100):
        n, k, m = (dim(name, hint=hint) for name in "nkm")
        x, w = var("x", n, k), var("w", k, m)
        function = ir.Function((x, w), ops.softmax(ops.relu(ops.matmul(x, w))))
        executable = rt.build(function)
        for sizes in ((1, 1, 1), (9, 33, 40), (64, 16, 17)):
            given = arrays(function, dict(zip((n, k, m), sizes, strict=True)))
            found = executable.run(given)
            np.testing.assert_allclose(values.setdefault(sizes, found), found, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("begin", "end", "step"),
    [
        (1, 1 << 30, 1),
        (2, 9, 1),
        (-3, 1 << 62, 1),
        (-5, -1, 2),
        (3, -2, 3),
        (-1, -(1 << 40), -1),
        (7, 1, -2),
        (-2, 0, -3),
    ],
)
def test_slices_of_open_axes_are_those_of_numpy(begin: int, end: int, step: int) -> None:
    x = ir.Var("x", rt.TensorType((rt.dim("n"), 3), "float32"))
    made = ops.strided_slice(x, begin=(begin,), end=(end,), strides=(step,), axes=(0,))
    built = rt.build(ir.Function((x,), made))
    assert built.why_interpreted is None
    for n in range(13):
        array = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
        np.testing.assert_array_equal(built.run([array]), array[begin:end:step])


def test_transpositions_of_open_axes() -> None:
    """Parts of squares at the ends are those of numpy."""
    x = var("x", N, M)
    built = rt.build(ir.Function((x,), ops.transpose(x, axes=(1, 0))), target="llvm -num-threads=1")
    for n in (0, 1, 3, 16, 17, 40):
        for m in (0, 1, 5, 63, 64, 65, 130):
            array = np.arange(n * m, dtype=np.float32).reshape(n, m)
            np.testing.assert_array_equal(built.run([array]), array.T)


@pytest.mark.parametrize("axis", [0, 1])
def test_scans_along_and_across_open_axes(axis: int) -> None:
    x = var("x", N, M)
    built = rt.build(ir.Function((x,), ops.cumsum(x, axis=axis)))
    for n in (0, 1, 2, 3, 5, 9):
        for m in (0, 1, 2, 15, 16, 33, 512, 600):
            array = np.random.default_rng(m).integers(-9, 9, (n, m)).astype(np.float32)
            np.testing.assert_array_equal(built.run([array]), np.cumsum(array, axis))


@pytest.mark.parametrize("op", [ops.argmax, ops.argmin])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_positions_along_axes_without_elements(
    op: Callable[..., ir.Expr], last: bool, axis: int | None
) -> None:
    made = op(var("x", N, M), axis=axis, select_last_index=last)
    symbolic = ir.Function(tuple(ir.free_vars(made)), made)
    built = rt.build(symbolic)
    for shape in ((3, 0), (0, 3), (0, 0)):
        array = np.zeros(shape, np.float32)
        wanted = np.full(array.sum(axis).shape, -1)
        np.testing.assert_array_equal(built.run([array]), wanted)
        np.testing.assert_array_equal(static(symbolic, [array]), wanted)
        interpreter = rt.create_executor("debug", ir.IRModule.from_expr(symbolic)).evaluate()
        np.testing.assert_array_equal(interpreter(array), wanted)


def test_what_constants_and_open_dims_decide_is_computed_in_each_run() -> None:
    places = np.random.default_rng(0).uniform(-1, 1, (1, 2, 5, 4)).astype(np.float32)
    image = var("x", 1, 3, N, M)
    symbolic = ir.Function((image,), ops.grid_sample(image, ir.const(places)))
    built = rt.build(symbolic)
    for h, w in ((4, 6), (9, 5)):
        given = arrays(symbolic, {N: h, M: w})
        np.testing.assert_allclose(built.run(given), static(symbolic, given), rtol=1e-6)


@pytest.mark.parametrize("width", [(1, 1), (3, 4)])
def test_open_axes_are_padded_by_reflection(width: tuple[int, int]) -> None:
    x = var("x", 2, N)
    built = rt.build(ir.Function((x,), ops.pad(x, pad_width=(0, 0, *width), pad_mode="reflect")))
    assert built.why_interpreted is None
    for n in (1, 2, 3, 7, 16, 40):
        array = np.arange(2 * n, dtype=np.float32).reshape(2, n)
        np.testing.assert_array_equal(built.run([array]), np.pad(array, ((0, 0), width), mode="reflect"))


def test_columns_that_are_copied_are_not_fetched_ahead() -> None:
    """Of a convolution of one step a window, in groups, of an image with a border on one side."""
    n, h, w = (dim(name) for name in "nhw")
    x, weight = var("x", n, 32, h, w), var("w", 64, 4, 1, 1)
    body = ops.conv2d(x, weight, strides=(2, 3), padding=(1, 0, 2, 0), groups=8)
    function = ir.Function((x, weight), body)
    given = arrays(function, {n: 2, h: 9, w: 13})
    np.testing.assert_allclose(rt.build(function).run(given), static(function, given), rtol=1e-5, atol=1e-5)
