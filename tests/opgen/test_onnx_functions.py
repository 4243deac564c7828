"""The emitter `onnx`: each built-in op as an ONNX function that ONNX checks and runs, or the reason why it is none."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opgen_runtime import ops
from opgen_runtime.declaration import evaluate_call
from opgen_runtime.testing import suite_of
from opgen_runtime.testing.cases import Case, attrs_of, case_call, specs_of
from opgen_runtime.testing.data import ordinary

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")
parser = pytest.importorskip("onnx.parser")
FILES = sorted((Path(__file__).parents[2] / "docs/ops/onnx").glob("*.txt"))
REFUSED = re.compile(r"^# (\w+) is no ONNX function: (.+)$", re.MULTILINE)
MAPPED = [path for path in FILES if REFUSED.search(path.read_text()) is None]
DTYPES = {"float32", "float64", "bool", "int8", "uint8", "int32", "int64"}
FLOATS = {"float32", "float64"}
CASES = 8  # of an op


def suite(op: str) -> Any:
    return suite_of(importlib.import_module(f"tests.generated.test_{op}"))


def cases_for(text: str, found: Any) -> list[Case]:
    """The cases of a suite that a function is for: dtypes, and attrs that it takes or that have their defaults."""
    only = set(re.findall(r"^# for (.+)$", text, re.MULTILINE))
    taken = re.findall(
        r"(\w+)(?:: \w+ = [^,>]+)?[,>]", (re.search(r"^\w+ <(.*>) \(", text, re.MULTILINE) or [""] * 2)[1]
    )
    wanted: list[Case] = []
    for case in (*found.declared_cases, *found.sampled_cases):
        specs = specs_of(found.op, case)
        dtypes = {str(each.dtype) for each in specs}
        given = {name: value for name, value in case.attrs.items() if name not in taken}
        admitted = FLOATS if "float operands" in only else DTYPES
        if dtypes <= admitted and all(f"{name} = {value!r}" in only for name, value in given.items()):
            wanted.append(case)
    return wanted


@pytest.mark.parametrize("path", MAPPED, ids=lambda path: path.stem)
def test_the_function_is_the_op(path: Path) -> None:
    text = path.read_text()
    proto = parser.parse_function(text)
    onnx.checker.check_function(proto)
    evaluator = reference.ReferenceEvaluator(proto)
    found = suite(path.stem)
    cases = cases_for(text, found)
    assert cases, "no case of the suite is one that the function is for"
    for case in cases[:CASES]:
        attrs = attrs_of(found.op, case)
        arrays = [
            ordinary(spec, name) for spec, name in zip(specs_of(found.op, case), proto.input, strict=True)
        ]
        taken = {
            each: getattr(attrs, each)
            for each in (*proto.attribute, *(a.name for a in proto.attribute_proto))
        }
        with np.errstate(all="ignore"):
            theirs = evaluator.run(None, dict(zip(proto.input, arrays, strict=True)), attributes=taken)
            ours = evaluate_call(case_call(found.op, case)[0], arrays)
        for a, b in zip(ours if isinstance(ours, tuple) else (ours,), theirs, strict=True):
            assert a.dtype == b.dtype, case
            close = {"rtol": 2e-6, "atol": 1e-6} if a.dtype.kind == "f" else {"rtol": 0}
            np.testing.assert_allclose(b, a, **close, err_msg=str(case))


def test_the_others_have_a_reason() -> None:
    assert len(FILES) == len(ops.__all__)
    assert len(MAPPED) == 102


def test_what_has_no_function() -> None:
    """One op for each way to be none."""
    for op, reason in REASONS.items():
        assert REFUSED.search((FILES[0].parent / f"{op}.txt").read_text()).groups() == (op, reason)  # type: ignore[union-attr]


REASONS = {
    "mse_loss": "it is made of other ops",
    "sort": "`ordered[*i,]` has no form in ONNX here",
    "unique": "it is computed by a hand-written function",
    "masked_select": "the shape of its result depends on values",
    "slice_like": "`out` is read from no tensor of its shape "
    "`tuple(shape_like.shape[d] if d in cut else n for d, n in enumerate(data.shape))`",
    "broadcast_to": "`out` is read from no tensor of its shape `*shape`",
    "clip": "whether attr `a_max` is given, and as what, decides what is computed",
    "left_shift": "integer division and shifts are defined for all operands here, not so in ONNX",
    "conv2d": "operand `data` is stored by a layout",
    "concatenate": "operand `data` is variadic",
    "lrn": "`sum` runs over `range(size)`, which is not one whole dim",
}
