"""Update loops over variadic inputs and static tuples: they unroll, so their names are static."""

from __future__ import annotations

import pytest

from opgen.analyse import check_project

HEAD = """\
op: one
dtypes: {T: number}
inputs: {xs: {shape: "N", dtype: T, variadic: true}}
type_relation: {require: len(xs) == 2}
outputs: {out: {shape: "2, N", dtype: T}}
"""
TAIL = '\ntests: [{xs: ["float32[3]", "float32[3]"]}]\n'


def findings(compute: str) -> list[tuple[str, str]]:
    text = HEAD + "compute: |\n  out[r, n] = 0\n" + compute + TAIL
    return [(found.code, found.message) for found in check_project({"one.yaml": text})[1]]


@pytest.mark.parametrize(
    "source", ["(0, 1)", "tuple(range(len(xs)))", "tuple(k for k in (0, 1))", "reversed((0, 1))"]
)
def test_the_name_of_a_loop_that_unrolls_is_a_static_subscript(source: str) -> None:
    assert findings(f"  for k in {source}:\n      for n in range(N):\n          out[k, n] += xs[k][n]") == []


def test_pairs_are_taken_apart() -> None:
    assert (
        findings(
            "  for k, x in enumerate(xs):\n      for n in range(x.shape[0]):\n          out[k, n] += x[n]"
        )
        == []
    )


def test_a_member_has_a_shape_and_a_dtype() -> None:
    body = (
        "  for x in xs:\n      for n in range(min(N, x.shape[0])):\n          out[0, n] = cast(x[n], x.dtype)"
    )
    assert findings(body) == []


def test_a_condition_on_the_name_is_static() -> None:
    body = """\
  for k in (0, 1, 2):
      for n in range(N):
          if k < len(xs):
              out[k, n] += xs[k][n]"""
    assert findings(body) == []


@pytest.mark.parametrize("source", ["range(2)", "reversed(range(2))"])
def test_the_name_of_a_range_is_an_element(source: str) -> None:
    (found,) = findings(f"  for k in {source}:\n      for n in range(N):\n          out[k, n] += xs[k][n]")
    assert found[0] == "stage"
    assert found[1].startswith("a subscript of a variadic input must be static")


@pytest.mark.parametrize("condition", ["x[n] > 0", "xs[k][n] > 0", "y[n] > 0", "big(k, n)", "first(x)"])
def test_a_condition_on_an_element_is_one_of_the_kernel(condition: str) -> None:
    body = f"""\
  def big(k, n): return xs[k][n] > 0
  def first(t): return t[0] > 0 if N > 0 else False
  for k, x in enumerate(xs):
      y = x
      for n in range(N):
          if {condition}:
              out[k, n] += x[n]
          else:
              out[k, n] += 1"""
    assert findings(body) == []
