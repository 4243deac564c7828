"""Tensor expressions as text: what has one name in it is one thing."""

from __future__ import annotations

from opgen_runtime import te
from opgen_runtime.compute.te import to_text


def test_vars_of_one_name_that_are_read_together_are_told_apart() -> None:
    a = te.placeholder((3, 3), name="a")
    i, j, k = (te.reduce_axis((0, 3), name="i0") for _ in range(3))
    row = te.compute((3,), lambda i0: te.sum(a[i0, i] * a[i, i0], axis=i), name="row")
    assert to_text([row]).splitlines()[-1] == (
        "row[i0]: float32[3] = sum(a[i0, i0_1] * a[i0_1, i0] for i0_1 in range(3))"
    )
    apart = te.compute(
        (3,), lambda i0: te.sum(a[j, 0], axis=j) + a[i0, 1] + te.sum(a[k, 2], axis=k), name="apart"
    )
    assert to_text([apart]).splitlines()[-1] == (
        "apart[i0]: float32[3] = sum(a[i0, 0] for i0 in range(3)) + a[i0, 1] + sum(a[i0, 2] for i0 in range(3))"
    )
    both = te.compute((), lambda: te.sum(a[i, j], axis=[i, j]), name="both")
    assert to_text([both]).splitlines()[-1] == (
        "both[()]: float32[] = sum(a[i0, i0_1] for i0 in range(3) for i0_1 in range(3))"
    )
