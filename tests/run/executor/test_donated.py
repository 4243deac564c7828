"""Results in the memory of donated arrays, and the arrays that may not be."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from opgen_runtime.errors import ExecutorError

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.run.compile.program.plan import Copy, PutSlice, Run
from opgen_runtime.run.compile.program.program import ProgramKernel

SHAPE = (3, 400)


def var(name: str, *shape: int) -> ir.Var:
    return rt.var(name, rt.TensorType(shape or SHAPE, "float32"))


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape or SHAPE, np.float32)


def code(program: object) -> list[type]:
    plan = program.plan  # type: ignore[attr-defined]
    assert plan is not None
    return [type(each) for each in plan.code]


@rt.jit(donate="w")
def step(w: np.ndarray, g: np.ndarray) -> np.ndarray:
    return w - g * 0.5


def test_the_result_is_the_array_that_was_donated() -> None:
    w, g = ones(), ones()
    assert step(w, g) is w
    np.testing.assert_array_equal(w, np.full(SHAPE, 0.5, np.float32))
    assert step(w, g) is w
    np.testing.assert_array_equal(w, np.zeros(SHAPE, np.float32))
    np.testing.assert_array_equal(g, ones())


def test_large_results_may_be_donated_again() -> None:
    big = np.ones((1 << 19,), np.float32)
    double = rt.jit(lambda x: x + x)
    given = double(double(big))  # from kept memory, which is its own alone
    assert not given.flags.owndata
    assert step(given, big) is given
    np.testing.assert_array_equal(given, np.full(big.shape, 3.5, np.float32))


def test_each_donated_argument_has_a_result_of_its_type() -> None:
    @rt.jit(donate=(0, "b"))
    def swap(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return b + c, a[0], a * c

    a, b, c = ones(), ones() * 2, ones() * 3
    first, row, last = swap(a, b, c)
    assert first is a
    assert last is b
    np.testing.assert_array_equal(first, ones() * 5)
    np.testing.assert_array_equal(row, ones(400))
    np.testing.assert_array_equal(last, ones() * 3)
    with pytest.raises(ExecutorError, match="a is donated, and no result that is left has its type"):
        rt.jit(lambda a: a[0], donate=0)(ones())


def test_a_result_that_comes_after_the_last_read_is_not_copied() -> None:
    x, y = var("x"), var("y", 400, 400)
    last = ops.matmul(ops.exp(x), y)
    program = rt.build(ir.Function((x, y), last), donate=["x"])
    assert code(program) == [Run, Run]
    a, b = ones(), ones(400, 400)
    wanted = np.exp(ones()) @ b
    (found,) = [program.run([a, b])]
    assert found is a
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_result_that_is_made_while_the_argument_is_read_is_copied_then() -> None:
    x, y = var("x", 40, 40), var("y", 40, 40)
    program = rt.build(ir.Function((x, y), ops.matmul(x, y)), donate=["x"])
    assert code(program) == [Run, Copy]
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((40, 40)).astype(np.float32) for _ in range(2))
    wanted = a @ b
    assert program.run([a, b]) is a
    np.testing.assert_allclose(a, wanted, rtol=1e-4, atol=1e-5)


def test_a_slice_is_put_in_place_where_nothing_reads_the_rest_later() -> None:
    x, part = var("x", 6, 5), var("part", 2, 5)
    put = ops.put_slice(x, part, axis=0, start=3)
    program = rt.build(ir.Function((x, part), put), donate=["x"])
    assert code(program) == [PutSlice]
    a, b = ones(6, 5), ones(2, 5) * 2
    assert program.run([a, b]) is a
    np.testing.assert_array_equal(a, [*ones(3, 5), *b, *ones(1, 5)])
    both = rt.build(ir.Function((x, part), ir.Tuple((put, ops.sum(ops.exp(ops.add(put, x)))))), donate=["x"])
    a = ones(6, 5)
    found, total = both.run([a, b])
    assert found is a
    np.testing.assert_allclose(total, np.exp(np.array([*ones(3, 5), *b, *ones(1, 5)]) + 1).sum(), rtol=1e-5)


def test_what_others_would_see_is_refused() -> None:
    g = ones(400)
    owner = ones()
    locked = ones(400)
    locked.flags.writeable = False
    cases = {
        "is a view of memory that another owns: ndarray": owner[0],
        "is read-only": locked,
        r"is not contiguous: shape \[400\], strides \[8\]": np.ones(800, np.float32)[::2],
        "is a view of memory that another owns: memoryview": np.frombuffer(bytearray(1600), np.float32),
    }
    for why, array in cases.items():
        with pytest.raises(ExecutorError, match=f"input w is donated, and {why}"):
            step(array, g)
    np.testing.assert_array_equal(owner, ones())
    with pytest.raises(ExecutorError, match="input w is donated, and input g has a part of its memory"):
        step(g, g)
    with pytest.raises(ExecutorError, match="input w is donated, and input g has a part of its memory"):
        step(g, g.reshape(20, 20).reshape(400))
    np.testing.assert_array_equal(g, ones(400))


def test_a_built_program_takes_no_arrays_for_such_results() -> None:
    x = var("x")
    program = rt.build(ir.Function((x,), ops.exp(x)), donate=["x"])
    with pytest.raises(ExecutorError, match="takes no arrays for them"):
        program.run([ones()], [ones()])
    with pytest.raises(ExecutorError, match="donate: main has no parameter 'y'"):
        rt.build(ir.Function((x,), ops.exp(x)), donate=["y"])


def test_donations_are_saved_with_a_program() -> None:
    x, part = var("x", 6, 5), var("part", 2, 5)
    n = rt.dim("n")
    open_x = rt.var("x", rt.TensorType((n, 5), "float32"))
    for given, start in ((x, 3), (open_x, n - 2)):
        put = ops.put_slice(given, part, axis=0, start=start)
        made = rt.build(ir.Function((given, part), put), donate=["x"])
        program = pickle.loads(pickle.dumps(made))
        a = ones(6, 5)
        assert program.run([a, ones(2, 5) * 2]) is a
        np.testing.assert_array_equal(a[start if isinstance(start, int) else 4 :][:2], ones(2, 5) * 2)


def test_entries_are_not_used_where_results_have_their_place() -> None:
    w, g = ones(), ones()
    for _ in range(4):
        assert step(w, g) is w
    (found,) = [step._compiled.get(key) for key in step._compiled if w.shape in key[0]]  # type: ignore[index]
    assert found is not None
    assert isinstance(found.executable._whole, ProgramKernel)  # type: ignore[union-attr]
    assert found.executable.entry() is None


def test_what_is_read_after_the_result_is_made_is_not_overwritten_before() -> None:
    x, y, z = (var(name, 40, 40) for name in "xyz")
    made = ops.matmul(ops.matmul(x, y), y)
    program = rt.build(ir.Function((x, y, z), ir.Tuple((made, ops.matmul(x, z)))), donate=["x"])
    assert code(program)[-1] is Copy
    random = np.random.default_rng(0)
    a, b, c = (random.standard_normal((40, 40)).astype(np.float32) for _ in range(3))
    wanted = a @ b @ b, a @ c
    found = program.run([a, b, c])
    assert found[0] is a
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_open_dims_of_any_size(count: int) -> None:
    x = rt.var("x", rt.TensorType((rt.dim("n"), 5), "float32"))
    program = rt.build(ir.Function((x,), ops.exp(x)), donate=["x"])
    a = ones(count, 5)
    assert program.run([a]) is a
    np.testing.assert_allclose(a, np.exp(ones(count, 5)), rtol=1e-6)
