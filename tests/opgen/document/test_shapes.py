"""A shape is one text or a list of its entries; both are read the same, and errors stand where they are written."""

from __future__ import annotations

import pytest

from opgen.analyse import check_project
from opgen.diagnostics import to_text

OP = """op: turned
inputs: {x: {shape: %s, dtype: float}}
outputs: {out: {shape: %s, dtype: x.dtype}}
compute: out[*b, j, i] = x[*b, i, j]
tests: [{x: "float32[2, 3]"}]
"""


@pytest.mark.parametrize(
    ("pattern", "result"),
    [
        ('"*B, N, M"', '"*B, M, N"'),
        ('["*B", N, M]', '["*B", M, N]'),
        ('"[*B, N, M]"', '"[*B, M, N]"'),
        ("['*B', N, M]", "['*B', M, 1 * N]"),
    ],
)
def test_lists_and_texts(pattern: str, result: str) -> None:
    ops, diagnostics = check_project({"turned.yaml": OP % (pattern, result)}, {})
    assert not to_text(diagnostics)
    assert len(ops) == 1


def test_the_place_of_an_entry() -> None:
    found = check_project({"turned.yaml": OP % ("[N, M]", "[M, Q]")}, {})[1]
    assert "turned.yaml:3:28: error[unbound-dim]: `Q` is bound by no input pattern" in to_text(found)


def test_an_empty_list_is_no_shape() -> None:
    found = check_project({"turned.yaml": OP % ("[]", '""')}, {})[1]
    assert "text is expected here, found a list" in to_text(found)
