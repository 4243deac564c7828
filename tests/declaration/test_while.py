"""`while` in a compute: the steps are those that Python would do, element by element; gradients run through them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np
import pytest

import opgen_runtime as rt
from opgen.analyse import check_project
from opgen.diagnostics import to_text
from opgen_runtime import tir

HEAD = """
op: {name}
inputs: {{x: {{shape: "N", dtype: {dtype}}}}}
outputs: {{a: {{shape: "N", dtype: {dtype}}}, b: {{shape: "N", dtype: int64}}}}
compute: |
  a[i] = x[i]
  b[i] = 0
{loop}
tests: [{{x: "{dtype}[5] in 1..40"}}]
"""
COUNT = 8
VALUES = ("a[i]", "b[i]", "m", "x[i]", "3")


def program(seed: int) -> str:
    """A `while` of random lines over `a`, `b` and a local value, and perhaps another one after it."""
    made = random.Random(seed)

    def lines(limit: int) -> str:
        def value() -> str:
            one, two = made.choices(VALUES, k=2)
            return made.choice(
                [
                    f"{one} + {two}",
                    f"{one} - 2 * {two}",
                    f"{one} // 2 + 1",
                    f"{one} % 7",
                    f"min({one}, {two})",
                ]
            )

        order = made.sample(["a[i]", "b[i]"], made.choice((1, 2)))
        body = ["m = a[i] // 3", *(f"{target} = {value()}" for target in order)]
        body.insert(made.randrange(1, len(body) + 1), "n = m + a[i]")
        if made.random() < 0.5:
            body.append("b[i] = n + b[i]") if "b[i]" not in order else None
        test = made.choice(["a[i] > 4", "b[i] < a[i]", "a[i] % 5 != 0 and b[i] < 9"])
        return f"while {test} and at_most({limit}):\n" + "\n".join(f"    {line}" for line in body)

    return "\n".join(lines(made.choice((0, 1, 6))) for _ in range(made.choice((1, 2))))


def by_python(loop: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = x.copy(), np.zeros(x.shape, np.int64)
    for i in range(len(x)):
        for part in loop.split("while ")[1:]:
            steps = iter(range(1, 100))
            names = {"a": a, "b": b, "x": x, "i": i, "at_most": lambda n, s=steps: next(s) <= n}
            exec(f"while {part}", names)
    return a, b


SQUARE_ROOT = HEAD.format(
    name="square_root",
    dtype="float64",
    loop="  while abs(a[i] * a[i] - x[i]) > 1e-12 * x[i] and at_most(40):\n"
    "      a[i] = (a[i] + x[i] / a[i]) / 2\n      b[i] = b[i] + 1",
)
TOGETHER = """
op: together
doc: Halves all while one is great; the tensor that counts has no dims.
inputs: {x: {shape: "N, M", dtype: float64}}
outputs: {a: {shape: "N, M", dtype: float64}, b: {shape: "", dtype: int64}}
compute: |
  a[i, j] = x[i, j]
  while sum(abs(a[p, q]) for p in range(N) for q in range(M)) > 1 and at_most(20):
      a[i, j] = a[i, j] / 2
  b[()] = 1
  while b[()] < 100 and at_most(50):
      b[()] = 3 * b[()]
  for n in range(N):
      b[()] += 1
tests: [{x: "float64[3, 2]"}]
"""
LONG = """
op: long
doc: Loops that end long before their greatest number of steps.
inputs: {x: {shape: "N, M", dtype: float64}}
attrs: {most: {type: int, default: 9, bounds: most >= 0}}
outputs: {a: {shape: "N, M", dtype: float64}, b: {shape: "N, M", dtype: int64}, c: {shape: "N, M", dtype: float64}}
compute: |
  a[i, j] = x[i, j]
  b[i, j] = 0
  while a[i, j] > 1 and at_most(most):
      a[i, j] = a[i, j] / 2
      b[i, j] = b[i, j] + 1
  c[i, j] = x[i, j]
  while any(c[p, q] > 1 for p in range(N) for q in range(M)) and at_most(most):
      c[i, j] = c[i, j] / 2
tests: [{x: "float64[3, 2]"}]
"""


@pytest.fixture(scope="module")
def package(package_of: Callable[[str, Sequence[str]], ModuleType]) -> ModuleType:
    loops = ["\n".join(f"  {line}" for line in program(seed).splitlines()) for seed in range(COUNT)]
    random_ones = [HEAD.format(name=f"loop_{k}", dtype="int64", loop=loop) for k, loop in enumerate(loops)]
    return package_of("while_ops", [*random_ones, SQUARE_ROOT, TOGETHER, LONG])


@pytest.mark.parametrize("seed", range(COUNT))
def test_steps_are_those_of_python(seed: int, package: ModuleType) -> None:
    x = np.random.default_rng(seed).integers(-5, 40, 12)
    found = rt.jit(getattr(package, f"loop_{seed}"))(x)
    for name, one, other in zip("ab", found, by_python(program(seed), x), strict=True):
        np.testing.assert_array_equal(one, other, err_msg=f"{name} of\n{program(seed)}")


def test_an_iteration_and_its_gradient(package: ModuleType) -> None:
    x = np.array([0.25, 2.0, 9.0, 1e6, 1.0])
    root, count = rt.jit(package.square_root)(x)
    np.testing.assert_allclose(root, np.sqrt(x), rtol=1e-12)
    assert len(set(count.tolist())) > 2  # each element ends by itself
    assert count[-1] == 0
    found = rt.grad(lambda x: package.square_root(x)[0].sum())(x)
    expected = 0.5 / np.sqrt(x)
    expected[-1] = 1.0  # no step was done: the result is the operand
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_condition_for_all_and_no_dims(package: ModuleType) -> None:
    x = np.array([[1.0, 5.0], [-9.0, 0.5], [0.0, 2.0]])
    halved, b = rt.jit(package.together)(x)
    np.testing.assert_array_equal(halved, x / 32)
    assert b == 243 + 3
    np.testing.assert_allclose(rt.grad(lambda x: package.together(x)[0].sum())(x), np.full(x.shape, 1 / 32))


@pytest.mark.parametrize("columns", [1, 5, 19])
def test_no_step_is_done_after_the_last(columns: int, package: ModuleType) -> None:
    """Compiled: where a step changes nothing, none follows; all tensors of a loop go through its steps together."""
    x = np.random.default_rng(columns).uniform(0, 99, (7, columns))
    texts: list[str] = []

    def seen(func: tir.PrimFunc) -> tir.PrimFunc:
        texts.append(str(func))
        return func

    operand = rt.var("x", rt.TensorType(x.shape, "float64"))
    most = 10**9
    with rt.PassContext(hooks={"lower": seen}):
        built = rt.build(rt.Function((operand,), package.long(operand, most=most)))
    loops = re.findall(r"for step in range\((\d+)\):\n *(.*)\n", "".join(texts))
    assert [count for count, _ in loops] == [str(most + 1)] * 2
    assert all("if" in line and "going" in line for _, line in loops)
    a, b, c = built.run([x])
    steps = np.maximum(np.ceil(np.log2(x)), 0)
    np.testing.assert_array_equal(b, steps)
    np.testing.assert_array_equal(a, x / 2**steps)
    np.testing.assert_array_equal(c, x / 2 ** steps.max())


REFUSED = {
    "while a[i] > 0:\n    a[i] = a[i] - 1": "error[unbounded]",
    "while a[i] > 0 and at_most(N - 9):\n    a[i] = a[i] - 1": "error[value]: `at_most` takes a static number of steps",
    "while a[i] > 0 and at_most(x[0]):\n    a[i] = a[i] - 1": "error[stage]: what `at_most` takes must be static",
    "while a[i] > 0 and at_most(3):\n    c[i] = a[i]": "error[undefined]: `c` is computed again here",
    "while a[i] > 0 and at_most(3):\n    a[i] = a[i]\n    a[i] = 2": "error[update]: `a` is computed twice",
    "while a[i] > 0 and at_most(3):\n    a[0] = 3": "error[index]: the indices of a `while` are fresh names",
    "while a[i] > 0 and at_most(3):\n    a[i] = 3\n    b[j] = 3": "error[index]: the tensors of one `while`",
    "while a[i] > 0 and at_most(3):\n    a[i] += 3": "error[not-in-language]: a `while` holds definitions",
    "while a[i] > 0 and at_most(3):\n    m = a[i]": "error[update]: a `while` changes no tensor",
    "for i in range(N):\n    a[i] += 1\nwhile a[j] > 0 and at_most(3):\n    a[j] = 3": "error[update]: `a` is updated",
    "c[i]: N = a[i]\nwhile a[i] > 0 and at_most(3):\n    a[i] = 3\n    c[i] = 2": "error[update]: `c` begins with `a`",
    "def f(k):\n    while k > 0: k = k - 1\n    return k": "= help: write `while x[i] > 1 and at_most(100):`",
    "u = at_most(3)": "error[call]: `at_most(n)` stands in the condition of a `while`",
}


@pytest.mark.parametrize("loop", REFUSED)
def test_what_is_refused(loop: str) -> None:
    lines = "\n".join(f"  {line}" for line in loop.splitlines())
    text = to_text(check_project({"own.yaml": HEAD.format(name="own", dtype="int64", loop=lines)})[1])
    assert REFUSED[loop] in text
    assert text.count("error[") == 1
