"""The worked declarations of the design, and a few more of every construct, come through analysis."""

from __future__ import annotations

from pathlib import Path

from opgen.analyse import check_project
from opgen.diagnostics import to_text
from opgen_runtime.base.vocabulary import OpPattern

EXAMPLES = Path(__file__).with_name("examples.yaml")

PATTERNS = {
    "matmul": OpPattern.OUT_ELEMWISE_FUSABLE,
    "sum": OpPattern.COMM_REDUCE,
    "concatenate": OpPattern.INJECTIVE,
    "scatter_nd": OpPattern.OPAQUE,
    "cumsum": OpPattern.OPAQUE,
    "lstm": OpPattern.OPAQUE,
    "quantised_conv": OpPattern.OUT_ELEMWISE_FUSABLE,
}


def test_examples() -> None:
    text = EXAMPLES.read_text(encoding="utf-8")
    ops, found = check_project({"examples.yaml": text})
    assert to_text(found) == ""
    assert len(ops) == text.count("\nop: ") + 1
    patterns = {op.name: op.pattern for op in ops}
    assert {name: patterns[name] for name in PATTERNS} == PATTERNS
