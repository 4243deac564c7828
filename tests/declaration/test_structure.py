"""How many terms the sums of a call have, and the tolerance that follows."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime.declaration.structure import Structure, structure_of
from opgen_runtime.operator import Op
from opgen_runtime.testing import Case, case_call, check_values


@pytest.mark.parametrize(
    ("name", "case", "expected"),
    [
        ("exp", Case({"data": "float32[2, 3]"}), Structure(1, zero_signs=True)),
        ("relu", Case({"data": "float32[2, 3]"}), Structure(1)),
        ("add", Case({"lhs": "float32[2, 3]", "rhs": "float32[3]"}), Structure(1)),
        ("sum", Case({"data": "float32[2, 3, 5]"}, {"axis": (0, 2)}), Structure(10)),
        ("matmul", Case({"a": "float32[2, 300]", "b": "float32[300, 4]"}), Structure(300)),
        ("conv2d", Case({"data": "float32[1, 2, 9, 9]", "weight": "float32[3, 2, 3, 3]"}), Structure(18)),
        ("sum", Case({"data": "float32[0, 3]"}), Structure(1)),
    ],
)
def test_terms(name: str, case: Case, expected: Structure) -> None:
    op = Op.get(name)
    call, _ = case_call(op, case)
    assert structure_of(op, call.attrs, [arg.checked_type for arg in call.args]) == expected


def test_a_long_float32_product_is_right() -> None:
    def reference(a: np.ndarray, b: np.ndarray, **attrs: object) -> np.ndarray:
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype)

    case = Case({"a": "float32[8, 1024]", "b": "float32[1024, 16]"})
    check_values(Op.get("matmul"), case, reference, "graph")


def test_a_product_without_one_of_its_terms_is_wrong() -> None:
    def reference(a: np.ndarray, b: np.ndarray, **attrs: object) -> np.ndarray:
        return (a.astype(np.float64)[:, 1:] @ b.astype(np.float64)[1:]).astype(a.dtype)

    case = Case({"a": "float32[8, 1024]", "b": "float32[1024, 16]"})
    with pytest.raises(AssertionError, match="elements are wrong"):
        check_values(Op.get("matmul"), case, reference, "graph")
