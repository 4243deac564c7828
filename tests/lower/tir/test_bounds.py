"""Accesses of kernels that people write: proved, refuted by an example, or neither."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime import tir
from opgen_runtime.base.errors import AccessError, LoweringError


def shifted(by: int) -> tir.PrimFunc:
    @tir.kernel("(x: float32[n]) -> (y: float32[n])")
    def kernel(x, y, n):
        for i in range(n):
            y[i] = x[i + by]

    return kernel


def rounded_up() -> tir.PrimFunc:
    @tir.kernel("(x: float32[n]) -> (y: float32[n])")
    def kernel(x, y, n):
        for o in tir.parallel((n + 7) // 8):
            for i in tir.vectorized(8):
                y[o * 8 + i] += 1.0

    return kernel


def constant() -> tir.PrimFunc:
    @tir.kernel("(x: float32[4, 2]) -> (y: float32[1])")
    def kernel(x, y):
        y[0] = x[3, 2]

    return kernel


def long_loop() -> tir.PrimFunc:
    @tir.kernel("(x: float32[1000]) -> (y: float32[1000])")
    def kernel(x, y):
        for i in range(1, 1001):
            y[i] = x[i - 1]

    return kernel


REFUTED: dict[str, tuple[Callable[[], object], int, str]] = {
    "behind the end": (lambda: shifted(1), 21, r":20: x\[i \+ 1\]: index 0 is 1 where n = 1, i = 0, the dim is n"),
    "before the start": (lambda: shifted(-2), 21, r":20: x\[i - 2\]: index 0 is -2 where n = 1, i = 0, the dim is n"),
    "tiles without a guard": (
        rounded_up,
        31,
        r":17: y\[o \* 8 \+ i\]: index 0 is 1 where n = 1, o = 0, i = 1, the dim is n",
    ),
    "a number": (constant, 39, r":16: x\[3, 2\]: index 1 is 2, the dim is 2"),
    "the last of many": (long_loop, 48, r":13: y\[i\]: index 0 is 1000 where i = 1000, the dim is 1000"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUTED)
def test_what_is_outside_for_some_dims_is_refused_with_its_place(what: str) -> None:
    make, line, message = REFUTED[what]
    with pytest.raises(AccessError, match=f"test_bounds.py:{line}{message}"):
        make()


def unproved(signature: str, body: str) -> list[str]:
    return [str(each) for each in tir.unproved_accesses(tir.parse(f"f{signature}:\n{body}"))]


def test_conditions_and_names_around_an_access_prove_it() -> None:
    signature = "(x: float32[n], at: int32[n]) -> (y: float32[n])"
    for body in (
        "    for i in range(n):\n        y[n - 1 - i] = x[i]\n",
        "    for i in range(n):\n        y[i] = x[i - 1] if i > 0 else 0.0\n",
        "    for o in range((n + 7) // 8):\n        for i in range(8):\n"
        "            if o * 8 + i < n:\n                y[o * 8 + i] = 0.0\n",
        "    if n % 8 == 0:\n        for o in range((n + 7) // 8):\n            for i in range(8):\n"
        "                y[o * 8 + i] = 0.0\n",
        "    for i in range(n):\n        j = i + 1\n        last = j == n\n        if last:\n"
        "            y[i] = 0.0\n        else:\n            y[i] = x[j]\n",
        "    for i in range(n):\n        k = cast(at[i], index)\n"
        "        if 0 <= k and k < n:\n            y[i] = x[k]\n",
        "    for i in range(n):\n        y[i] = x[min(max(cast(at[i], index), 0), n - 1)]\n",
    ):
        assert unproved(signature, body) == [], body


def test_what_elements_decide_is_neither_and_checked_by_the_interpreter() -> None:
    text = "(x: float32[n], at: int32[n]) -> (y: float32[n])"
    body = "    for i in range(n):\n        y[i] = x[cast(at[i], index)]\n"
    assert unproved(text, body) == ["x[cast(at[i], index)]: index 0 is not proved to be inside, the dim is n"]
    kernel = tir.parse(f"f{text}:\n{body}")
    (n,) = kernel.dims
    x = np.float32([1, 2])
    assert tir.interpret(kernel, [x, np.int32([1, 0])], {n: 2})[0].tolist() == [2, 1]
    with pytest.raises(
        LoweringError, match=r"x\[cast\(at\[i\], index\)\]: index 2 is outside 0 <= index < 2"
    ):
        tir.interpret(kernel, [x, np.int32([1, 2])], {n: 2})


NUMBERS = st.integers(-2, 3)


@given(NUMBERS, NUMBERS, NUMBERS, st.sampled_from(["n", "n + 1", "n // 2", "3"]), st.integers(1, 3), NUMBERS)
@settings(max_examples=150, deadline=None)
def test_proofs_and_examples_are_what_all_small_sizes_show(
    a: int, b: int, c: int, extent: str, width: int, least: int
) -> None:
    """`x[i * a + j * b + c]` under `i + j >= least`, at each n up to 64."""
    kernel = tir.parse(
        "f(x: float32[n]) -> (y: float32[1]):\n"
        f"    for i in range({extent}):\n"
        f"        for j in range({width}):\n"
        f"            if i + j >= {least}:\n"
        f"                y[0] = x[i * ({a}) + j * ({b}) + ({c})]\n"
    )

    def is_outside(n: int) -> bool:
        count = {"n": n, "n + 1": n + 1, "n // 2": n // 2, "3": 3}[extent]
        points = [(i, j) for i, j in itertools.product(range(count), range(width)) if i + j >= least]
        return any(not 0 <= i * a + j * b + c < n for i, j in points)

    found = tir.unproved_accesses(kernel)
    outside = [n for n in range(65) if is_outside(n)]
    assert not (outside and not found), (outside, kernel)
    assert outside or not found or found[0].example is None, (found[0], kernel)
