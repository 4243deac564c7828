"""Variants of a kernel of symbolic dims: chosen when it runs, and equal to what has none."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops, te
from opgen_runtime.base import Target
from opgen_runtime.base.arith import Analyzer, Expr, Var, dim, ge, le
from opgen_runtime.base.vocabulary import INDEX, DType
from opgen_runtime.lower import tir
from opgen_runtime.lower.schedule import create_schedule, specialisation
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.kernel import steps
from opgen_runtime.run.compile.kernel.multiversioning import (
    MAX_VERSIONS,
    distinct,
    find_broadcast_number,
    specialised,
)

TARGET = "llvm -mcpu=x86-64-v3 -num-threads=1"
N, K, M = dim("n", hint=128), dim("k", hint=64), dim("m", hint=64)
WEIGHT = np.random.default_rng(1).standard_normal((48, 24)).astype(np.float32)


def var(name: str, *shape: object) -> ir.Var:
    return ir.Var(name, rt.TensorType(shape, "float32"))


def function(body: ir.Expr) -> ir.Function:
    return ir.Function(tuple(ir.free_vars(body)), body)


def program(name: str, n: object, k: object, m: object) -> ir.Function:
    """A program over dims, which are symbolic or ints."""
    bodies = {
        "open": lambda: ops.matmul(var("x", n, k), var("w", k, m)),
        "fused": lambda: ops.relu(ops.add(ops.matmul(var("x", n, k), var("w", k, 40)), var("b", 40))),
        "batched": lambda: ops.batch_matmul(var("x", 3, n, k), var("w", 3, k, 16), transpose_b=False),
        "squares": lambda: ops.matmul(var("x", n, 16), ops.transpose(var("y", n, 16), axes=(1, 0))),
    }
    return function(bodies[name]())


def arguments(function: ir.Function) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [
        random.standard_normal(param.checked_type.concrete_shape).astype(np.float32)
        for param in function.params
    ]


@pytest.mark.parametrize("name", ["open", "fused", "batched", "squares"])
def test_every_variant_equals_the_static_program_and_the_kernel_without_variants(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elements are sums in the same order, so that sizes and schedules change what is rounded by a few ulp at most."""
    monkeypatch.setenv("OPGEN_CACHE_DIR", "")
    pipeline.forget_kernels()
    symbolic = rt.build(program(name, N, K, M), target=TARGET)
    assert "has versions for" in symbolic.explain()
    with monkeypatch.context() as patch:
        patch.setattr(steps, "distinct", lambda specialisations: [])
        pipeline.forget_kernels()
        plain = rt.build(program(name, N, K, M), target=TARGET)
        assert "has versions for" not in plain.explain()
    pipeline.forget_kernels()
    for n, k, m in (
        (0, 5, 3),
        (1, 0, 1),
        (1, 37, 16),
        (2, 3, 5),
        (3, 16, 1),
        (4, 9, 33),
        (5, 8, 16),
        (97, 30, 40),
    ):
        fixed = program(name, n, k, m)
        given = arguments(fixed)
        found = symbolic.run(given)
        np.testing.assert_allclose(found, plain.run(given), rtol=4e-6, atol=4e-6)
        if n in (1, 4):
            wanted = rt.build(fixed, target=TARGET).run(given)
            np.testing.assert_allclose(found, wanted, rtol=4e-6, atol=4e-6)


def test_variants_are_saved_and_pickled_with_their_kernel(tmp_path: Path) -> None:
    executable = rt.build(program("fused", N, K, M), target=TARGET)
    executable.save(tmp_path / "fused")
    line = "opgen_matmul_add_relu has versions for n == 1, 2 <= n <= 6 and the rest"
    for loaded in (rt.load(tmp_path / "fused"), pickle.loads(pickle.dumps(executable))):
        assert line in loaded.explain().splitlines()
        for n in (1, 3, 9):
            given = arguments(program("fused", n, 7, 5))
            np.testing.assert_array_equal(loaded.run(given), executable.run(given))


def test_a_segment_without_a_contraction_or_rows_has_one_schedule() -> None:
    assert "versions" not in rt.build(function(ops.exp(var("x", N, K)))).explain()


def test_few_rows_of_packed_constants_are_forms_of_the_one_tile() -> None:
    def prepared(n: object) -> ir.Function:
        return function(ops.tanh(ops.dense(var("x", n, 24), ir.const(WEIGHT))))

    symbolic = rt.build(prepared(N), target=TARGET)
    assert "versions" not in symbolic.explain()
    for n in (0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 97):
        fixed = prepared(n)
        given = arguments(fixed)
        wanted = rt.build(fixed, target=TARGET).run(given)
        np.testing.assert_allclose(symbolic.run(given), wanted, rtol=4e-6, atol=4e-6)


def test_likely_few_rows_of_little_work_have_one_small_schedule() -> None:
    """Forms for each number of rows that may be left take longer to compile than they ever save."""

    def made(hint: int, width: int) -> rt.Executable:
        weight = np.random.default_rng(0).standard_normal((88, width)).astype(np.float32)
        return rt.build(
            function(ops.relu(ops.dense(var("x", dim("n", hint=hint), width), ir.const(weight)))),
            target=TARGET,
        )

    def code(executable: rt.Executable) -> int:
        return max([len(kernel.image.code) for kernel in executable.compiled])

    little, much = made(2, 24), made(2, 768)
    assert code(little) < code(much)
    weight = np.random.default_rng(0).standard_normal((88, 24)).astype(np.float32)
    for n in (1, 2, 3, 4, 5, 6, 7, 8, 13, 64):
        x = np.random.default_rng(n).standard_normal((n, 24)).astype(np.float32)
        np.testing.assert_allclose(little.run([x]), np.maximum(x @ weight.T, 0), rtol=1e-5, atol=1e-5)


def test_rows_that_fit_one_vector_have_a_schedule_of_their_own() -> None:
    executable = rt.build(function(ops.softmax(var("x", N, K))))
    lanes = Target.host().lanes(DType("float32"))
    assert f"opgen_softmax has versions for 1 <= k <= {lanes} and the rest" in executable.explain()
    for k in (1, lanes - 1, lanes, lanes + 1, 5 * lanes):
        x = np.random.default_rng(k).normal(size=(3, k)).astype(np.float32)
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        np.testing.assert_allclose(executable.run([x]), powers / powers.sum(axis=1, keepdims=True), rtol=1e-6)


def test_there_are_at_most_four() -> None:
    many = [specialisation(N, size, size) for size in (1, 2, 1, 3, 4, 5)]
    assert [str(each) for each in distinct(many)] == ["n == 1", "n == 2", "n == 3"]
    assert MAX_VERSIONS == 4


def test_dims_are_narrowed_in_types_and_attrs() -> None:
    x = var("x", N, K)
    made = specialised(
        function(ops.broadcast_to(ops.exp(x), shape=(7, N, K))), specialisation(N, 1, 1).values
    )
    assert str(made.params[0].checked_type) == "Tensor[(1, k), float32]"
    assert str(made.body.checked_type) == "Tensor[(7, 1, k), float32]"


def test_what_is_known_of_a_narrowed_dim_is_proved() -> None:
    (value,) = specialisation(N, 2, 8).values.values()
    analyzer = Analyzer()
    assert analyzer.prove(ge(value, 2))
    assert analyzer.prove(le(value, 8))
    assert not analyzer.prove(le(value, 7))
    assert str(analyzer.simplify((value + 7) // 8)) == "1"
    assert not analyzer.prove(ge(N, 1))


def test_a_choice_of_kernels_is_one_kernel() -> None:
    def doubled(extent: object, name: str) -> tir.PrimFunc:
        x = te.placeholder((extent,), "float32", f"{name}_x")
        y = te.compute((extent,), lambda i: x[i] + x[i], name)
        return tir.run_phases(tir.lower(create_schedule([y]), [x], [y], "f"))

    small = Var(INDEX, "n", size=True, hint=4, least=2, most=4)
    one = specialisation(N, 1, 1)
    cases = [
        (one.guard, one.values, doubled(1, "one")),
        (specialisation(N, 2, 4).guard, {N: small}, doubled(small, "few")),
    ]
    assert str(tir.chosen(doubled(N, "y"), cases)) == (
        "f(y_x: float32[n]) -> (y: float32[n]):\n"
        "    if n == 1:\n"
        "        y[0] = y_x[0] + y_x[0]\n"
        "    else:\n"
        "        if (n >= 2) & (n <= 4):\n"
        "            for i in range(n):\n"
        "                y[i] = y_x[i] + y_x[i]\n"
        "        else:\n"
        "            for i in range(n):\n"
        "                y[i] = y_x[i] + y_x[i]\n"
    )
    assert tir.alike(doubled(3, "a"), doubled(3, "b"))
    assert not tir.alike(doubled(3, "a"), doubled(4, "a"))


@pytest.mark.parametrize(
    ("make", "shapes", "expected"),
    [
        (ops.add, ((K, 3), (6, 3)), "k is 6 or 1"),
        (ops.add, ((6, 3), (K, 3)), "k is 6 or 1"),
        (ops.add, ((K, 3), (1, 3)), "none"),  # the number is 1
        (ops.add, ((K + 1, 3), (6, 3)), "none"),  # it is no dim
        (lambda x, y: ops.add(ops.add(x, y), ops.exp(ops.add(y, x))), ((K, 3), (6, 3)), "k is 6 or 1"),
        (lambda x, y: ops.concatenate((ops.add(x, y), ops.add(x, ops.concatenate((y, y))))), ((K, 3), (6, 3)), "none"),
        (lambda x, y: ops.multiply(ops.add(x, y), ops.dense(x, y)), ((6, K), (6, 6)), "none"),  # it is 6 in `dense`
    ],
)  # fmt: skip
def test_the_number_that_a_dim_meets(
    make: Callable[..., ir.Expr], shapes: Sequence[tuple[int | Expr, ...]], expected: str
) -> None:
    params = [var(f"p{k}", *shape) for k, shape in enumerate(shapes)]
    pair = find_broadcast_number(ir.Function(tuple(params), make(*params)))
    assert ("none" if pair is None else f"{pair[1]} is {pair[0]} or 1") == expected
