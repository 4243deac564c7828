"""Tensor expressions in LaTeX: whole formulas, as few definitions as can be read."""

from __future__ import annotations

from typing import Any

import pytest

from opgen_runtime import te
from opgen_runtime.compute.te.latex import signs, to_latex
from opgen_runtime.compute.te.tensor import Sort, Tensor

A = te.placeholder((3, 4), name="a")
X = te.placeholder((4,), name="x")
COUNT = te.placeholder((4,), "int64", name="count")


def of(value: Any) -> str | None:
    """The right side of `y[i] = value`."""
    made = to_latex([te.compute((4,), value, name="y")])
    return None if made is None else made.removeprefix("y_{i} &= ")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (lambda i: X[i] - (X[i] - 1), r"x_{i} - \left(x_{i} - 1\right)"),
        (lambda i: X[i] + X[i] * -1.0, "x_{i} - x_{i}"),
        (lambda i: X[i] * X[i], "x_{i}^{2}"),
        (lambda i: (X[i] + 1) * 0.1, r"\left(x_{i} + 1\right) \cdot 0.1"),
        (lambda i: X[i] * 1e-5, r"x_{i} \cdot 10^{-5}"),
        (lambda i: te.exp(X[i]) / 2, r"\frac{\exp\left(x_{i}\right)}{2}"),
        (lambda i: te.power(1 / X[i], 2.5), r"\left(\frac{1}{x_{i}}\right)^{2.5}"),
        (
            lambda i: te.erf(te.sqrt(te.abs(X[i]))),
            r"\operatorname{erf}\left(\sqrt{\left|x_{i}\right|}\right)",
        ),
        (lambda i: X[i].astype("int32"), r"\mathrm{int32}\left(x_{i}\right)"),
        (lambda i: COUNT[i] % 3 // 2, r"\left\lfloor \frac{count_{i} \bmod 3}{2} \right\rfloor"),
        (lambda i: A[i % 3, (i + 1) % 4], r"a_{i \bmod 3, \left(i + 1\right) \bmod 4}"),
        (
            lambda i: te.if_then_else((X[i] > 0) & (X[i] < 2), X[i], 0.5),
            r"\begin{cases} x_{i} & \text{if } x_{i} > 0 \land x_{i} < 2 \\ 0.5 & \text{otherwise} \end{cases}",
        ),
    ],
)
def test_values(value: Any, shown: str) -> None:
    assert of(value) == shown.replace("count", r"\mathrm{count}")


def test_a_guard_that_always_holds_is_left_out() -> None:
    assert of(lambda i: te.if_then_else(i - 1 < 3, X[i], 0.0)) == "x_{i}"


def test_reductions_have_letters_of_their_own() -> None:
    k = te.reduce_axis((0, 4), name="i")
    made = te.compute((3,), lambda i: te.max(A[i, k], axis=k), name="y")
    assert to_latex([made]) == r"y_{i} &= \max_{j < 4} a_{i, j}"
    where = te.compute((3,), lambda i: te.sum(A[i, k], axis=k, where=k <= i), name="y")
    assert to_latex([where]) == r"y_{i} &= \sum_{j < 4,\, j \le i} a_{i, j}"


def test_stages_are_written_where_they_are_read_once() -> None:
    """But a reduction is none inside another one, and what is read twice has a name."""
    k = te.reduce_axis((0, 4), name="k")
    mean = te.compute((3,), lambda i: te.sum(A[i, k], axis=k) / 4, name="mean")
    apart = te.compute((3, 4), lambda i, j: A[i, j] - mean[i], name="apart")
    square = te.compute((3, 4), lambda i, j: apart[i, j] * apart[i, j], name="square")
    total = te.compute((3,), lambda i: te.sum(square[i, k], axis=k), name="total")
    copy = te.compute((3,), lambda i: total[i], name="copy")
    y = te.compute((3,), lambda i: copy[i] / 4, name="y")
    assert to_latex([y]) == (
        "\\mathrm{mean}_{i} &= \\frac{\\sum_{k < 4} a_{i, k}}{4} \\\\\n"
        "\\mathrm{apart}_{i, j} &= a_{i, j} - \\mathrm{mean}_{i} \\\\\n"
        "y_{i} &= \\frac{\\sum_{k < 4} \\mathrm{apart}_{i, k}^{2}}{4}"
    )


def test_a_sort() -> None:
    made = Tensor("y", (3, 4), A.dtype, Sort(A, 1, True, False))
    assert (
        to_latex([made]) == r"y &= \operatorname{sort}\left(a,\, \text{axis } 1,\, \text{descending}\right)"
    )


def test_names_are_told_apart() -> None:
    first = te.compute((4,), lambda i: te.exp(X[i]), name="x")
    second = te.compute((4,), lambda i: first[i] * first[i] + first[i], name="x")
    assert to_latex([second]) == (
        "\\mathrm{x3}_{i} &= \\exp\\left(x_{i}\\right) \\\\\n"
        "\\mathrm{x2}_{i} &= \\mathrm{x3}_{i}^{2} + \\mathrm{x3}_{i}"
    )


def test_what_nobody_would_read_is_no_formula() -> None:
    """A stage that is read twice is written once; but an expression that doubles itself is longer each time."""
    value = X[0]
    for _ in range(12):
        value = te.exp(value) + value
    assert of(lambda i: value) is None


def test_signs() -> None:
    assert signs(r"\mathrm{out}_{i} &= \frac{\sum_{k < 10} e_{i, k}}{2} \\ y &= 1") == len(
        "outi=∑k<10ei,k2y=1"
    )
