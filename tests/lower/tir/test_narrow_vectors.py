"""Accumulators of tails are as wide as what is left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import te
from opgen_runtime.base.target import Target
from opgen_runtime.lower import tir
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.tir.nodes.visit import statements

CPU = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")


def product(rows: int, columns: int, summed: int, dtype: str = "float32") -> tuple[te.Tensor, ...]:
    a, b = te.placeholder((rows, summed), dtype, name="A"), te.placeholder((summed, columns), dtype, name="B")
    k = te.reduce_axis((0, summed), name="k")
    return a, b, te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


def lowered(rows: int, columns: int) -> tir.PrimFunc:
    a, b, c = product(rows, columns, 9)
    return tir.run_phases(tir.lower(generic([c], CPU), (a, b), (c,), "kernel"))


@pytest.mark.parametrize(
    ("columns", "widths"),
    [(64, {16}), (36, {16, 4}), (40, {16, 8}), (41, {16}), (17, {16, 4}), (3 * 32, {16})],
)
def test_the_last_vector_is_as_wide_as_what_is_left(columns: int, widths: set[int]) -> None:
    stores = [s for s in statements(lowered(8, columns).body) if isinstance(s, tir.Store)]
    sums = [s for s in stores if s.buffer.scope == "local"]
    assert {s.indices[0].lanes for s in sums if isinstance(s.indices[0], tir.Ramp)} == widths


def test_vectors_of_which_nothing_is_read_are_not_computed() -> None:
    """Of the second panel four columns are left: one narrow vector for each row."""
    text = tir.to_text(lowered(2, 68))
    assert "ramp" in text
    narrow = [
        line.strip() for line in text.splitlines() if line.strip().startswith("sum") and ", 4)] =" in line
    ]
    assert len(narrow) == 4, text  # of two rows: to nothing, and one step


@given(
    st.sampled_from(["float32", "float64", "int32"]),
    st.integers(2, 20),
    st.integers(4, 100),
    st.integers(8, 20),
    st.sampled_from(["x86-64-v4", "x86-64-v3", "x86-64"]),
)
@settings(max_examples=25, deadline=None)
def test_products_equal_the_reference(dtype: str, rows: int, columns: int, summed: int, cpu: str) -> None:
    target = Target.parse(f"llvm -mcpu={cpu} -num-threads=1")
    a, b, c = product(rows, columns, summed, dtype)
    random = np.random.default_rng(rows * columns)
    arrays = [random.integers(-9, 9, t.shape).astype(dtype) for t in (a, b)]
    runs = target if target.is_host else Target.host()
    found = rt.build(generic([c], target), [a, b, c], runs)(*arrays, np.full((rows, columns), 7, dtype))
    np.testing.assert_array_equal(found, arrays[0] @ arrays[1])
