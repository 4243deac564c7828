"""Conditions on sizes that decide a program: one program for all sizes of which they are the same, at most four."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import parser  # noqa: E402

from opgen_runtime.base.arith import Expr, dim, eq, evaluate_scalar, ge, logical_and, logical_or, lt, ne  # noqa: E402
from opgen_runtime.frontend.onnx import prepare  # noqa: E402
from opgen_runtime.frontend.onnx.size_conditions import assumption, holds  # noqa: E402

TARGET = "llvm -num-threads=1"


def model(text: str, **initializers: np.ndarray) -> Any:
    made = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    for name, array in initializers.items():
        made.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return made


@pytest.mark.parametrize(
    "condition",
    [
        lambda n, m: eq(n, 1),
        lambda n, m: ne(n, 3),
        lambda n, m: lt(n, m),
        lambda n, m: ge(n * 2, m + 1),
        lambda n, m: logical_and(lt(n, 4), ne(m, 0)),
        lambda n, m: logical_or(eq(n, m), eq(m, 2)),
        lambda n, m: logical_or(logical_and(lt(n, 3), lt(m, 3)), eq(n, 6)),
    ],
)
def test_what_is_assumed_implies_what_was_decided(condition: Any) -> None:
    """For all small sizes: it holds at the sizes at hand, and wherever it holds the condition is as it was there."""
    sizes = [(a, b) for a in range(8) for b in range(8)]
    for hinted_n, hinted_m in sizes:
        n, m = dim("n", hinted_n), dim("m", hinted_m)
        decided: Expr = condition(n, m)
        truth = holds(decided)
        assumed = assumption(decided, truth)

        def all_hold(a: int, b: int, assumed: Any = assumed, n: Any = n, m: Any = m) -> bool:
            return all([evaluate_scalar(size, {n: a, m: b}) >= 0 for size in assumed])

        assert all_hold(hinted_n, hinted_m)
        for a, b in sizes:
            if all_hold(a, b):
                assert bool(evaluate_scalar(decided, {n: a, m: b})) == truth


SQUEEZED = model(
    "g (float[batch, width] x) => (float[a] y) { s = Shape (x)  n = Gather (s, one)  c = Equal (n, one) "
    "z = If (c) <then_branch = t () => (float[a] p) { p = Squeeze (x, ones) }, "
    "else_branch = e () => (float[a] q) { q = ReduceSum <keepdims = 0> (x, ones) }>  y = Relu (z) }",
    one=np.array(1),
    ones=np.array([1]),
)


def expected(x: np.ndarray) -> np.ndarray:
    return np.maximum(x.sum(1), 0)


def test_each_side_of_an_if_has_a_program_for_all_sizes() -> None:
    program = prepare(SQUEEZED, TARGET)
    random = np.random.default_rng(3)
    shapes = [(2, 3), (4, 1), (3, 1), (5, 6), (7, 1), (1, 9), (0, 4)]
    for count, shape in enumerate(shapes):
        x = random.standard_normal(shape).astype(np.float32)
        np.testing.assert_allclose(program([x])[0], expected(x), rtol=1e-5, atol=1e-6)
        assert len(list(program._open)) == (0, 1, 1, 2, 2, 2, 2)[count]
    assert "one program, for sizes that those before refuse:" in program.explain()


def test_they_are_found_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    content = SQUEEZED.SerializeToString()
    arrays = [np.ones(shape, np.float32) for shape in ((2, 3), (4, 1), (5, 6), (3, 1), (7, 8))]
    for _ in range(2):
        program = prepare(content, TARGET)
        for x in arrays:
            np.testing.assert_array_equal(program([x])[0], expected(x))
        assert len(list(program._open)) == 2


FIVE = model(
    "g (float[width] x) => (float y) { s = Shape (x)  n = Squeeze (s)  "
    + " ".join([f"c{k} = Equal (n, k{k})" for k in range(6)])
    + " "
    + " ".join(
        [
            f"z{k} = If (c{k}) <then_branch = t{k} () => (float a{k}) {{ a{k} = ReduceSum <keepdims = 0> (x) }}, "
            f"else_branch = e{k} () => (float[1] b{k}) {{ b{k} = ReduceMax <keepdims = 1> (x) }}>"
            for k in range(6)
        ]
    )
    + "  y = Sum (z0, z1, z2, z3, z4, z5) }",
    **{f"k{k}": np.array(k + 1) for k in range(6)},
)


def test_there_are_four_at_most() -> None:
    program = prepare(FIVE, TARGET)
    for width in (9, 1, 2, 3, 4, 5, 6, 7, 5, 8):
        x = np.arange(1, width + 1, dtype=np.float32)
        wanted = 6 * width if width > 6 else 5 * width + x.sum()
        np.testing.assert_allclose(np.ravel(program([x])[0]), [wanted])
    assert len(list(program._open)) == 4


def test_a_dim_that_is_not_zero() -> None:
    """What PyTorch writes of `if size:`, with both sides of one type."""
    made = model(
        "g (float[batch, 2] x) => (float[a, b] y) { s = Shape (x)  n = Gather (s, zero)  c = Cast <to = 9> (n) "
        "y = If (c) <then_branch = t () => (float[a, b] p) { p = Exp (x) }, "
        "else_branch = e () => (float[a, b] q) { q = Identity (x) }> }",
        zero=np.array(0),
    )
    program = prepare(made, TARGET)
    for batch in (3, 1, 2, 0, 4):
        x = np.full((batch, 2), 0.5, np.float32)
        np.testing.assert_allclose(program([x])[0], np.exp(x), rtol=1e-6)
    of_some, of_none = program._open
    assert of_some.is_decided_by_sizes
    assert of_none.is_decided_by_sizes


def test_axes_that_are_dropped_are_those_of_one_element_at_hand() -> None:
    program = prepare(model("g (float[batch, 3, width] x) => (float[a] y) { y = Squeeze (x) }"), TARGET)
    for batch, width in ((2, 4), (3, 1), (1, 5), (4, 7), (6, 1), (1, 1)):
        x = np.arange(3 * batch * width, dtype=np.float32).reshape(batch, 3, width)
        np.testing.assert_array_equal(program([x])[0], x.squeeze())
    assert len(list(program._open)) == 4
