"""Names of loop IR: numbers in place of all but the kernel's own."""

from __future__ import annotations

import re

from opgen_runtime.lower.tir import parse
from opgen_runtime.lower.tir.nodes.naming import anonymous

SQUARES = """\
f(x: float32[n, 8]) -> (y: float32[n]):
    allocate t: float32[8] local
    for i in range(n):
        for k in range(8):
            t[k] = x[i, k] * x[i, k]
        for k in range(8):
            y[i] = y[i] + t[k]
"""


def test_numbers_stand_for_all_names_but_the_kernels_own() -> None:
    func = parse(SQUARES)
    assert (
        str(anonymous(func))
        == """\
f(v1: float32[v0, 8]) -> (v2: float32[v0]):
    allocate v3: float32[8] local
    for v4 in range(v0):
        for v5 in range(8):
            v3[v5] = v1[v4, v5] * v1[v4, v5]
        for v6 in range(8):
            v2[v4] = v2[v4] + v3[v6]
"""
    )


def test_kernels_that_differ_in_names_alone_are_one_text() -> None:
    renamed = re.sub(r"\bt\b", "squares", re.sub(r"\bi\b", "row", SQUARES))
    other = SQUARES.replace("* x[i, k]", "* x[i, 0]")
    assert str(anonymous(parse(renamed))) == str(anonymous(parse(SQUARES)))
    assert str(anonymous(parse(other))) != str(anonymous(parse(SQUARES)))
