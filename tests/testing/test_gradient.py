"""`check_grad`: a wrong derivative is found; domains keep operands where an op is defined."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime.base.arith import mul
from opgen_runtime.compute.te.derivative import local
from opgen_runtime.declaration import derive
from opgen_runtime.operator import Op
from opgen_runtime.testing.cases import Case
from opgen_runtime.testing.gradient import check_grad, domain_of, gradient_case, record_of


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derivatives that are kept from elsewhere do not show what is changed here."""
    monkeypatch.setattr(derive, "_derived", type(derive._derived)(64))


@pytest.mark.parametrize("name", ["exp", "sigmoid", "divide", "power"])
def test_a_wrong_derivative_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op = Op.get(name)
    inputs = {each.name: "float32[3]" for each in op.get_attr("declaration").signature.inputs}
    check_grad(op, Case(inputs))
    derive._derived.clear()
    for table in (local._CALLS, local._BINARY):
        for key, rule in table.items():
            monkeypatch.setitem(
                table, key, lambda *a, rule=rule: tuple(p if p is None else mul(p, 1.001) for p in rule(*a))
            )
    with pytest.raises(
        AssertionError, match=f"{name}: the gradient for .* along a direction is .* the difference"
    ):
        check_grad(op, Case(inputs))


def test_a_domain_keeps_operands_where_an_op_is_defined() -> None:
    assert domain_of(Op.get("log")) == {"data": (0.0, np.inf)}
    assert domain_of(Op.get("asin")) == {"data": (-1.0, 1.0)}
    assert domain_of(Op.get("exp")) == {}
    made = gradient_case(Op.get("acosh"), Case({"data": "float32[500]"}))
    assert made is not None
    assert made.arrays[0].dtype == np.float64
    assert made.arrays[0].min() > 1.0


def test_what_a_spec_asks_of_values_holds_for_gradients_too() -> None:
    for dtype in ("float32", "bfloat16"):
        for words, holds in (
            ("spd", lambda a: np.linalg.eigvalsh(a).min() > 0 and np.array_equal(a, a.T)),
            ("sorted unique", lambda a: (np.diff(a, axis=-1) > 0).all()),
            ("probabilities", lambda a: np.allclose(a.sum(-1), 1.0, rtol=1e-2)),
        ):
            made = gradient_case(Op.get("exp"), Case({"data": f"{dtype}[5, 5] {words}"}))
            assert made is not None
            assert made.arrays[0].dtype == np.float64
            assert holds(made.arrays[0]), words


def test_records() -> None:
    data = {"data": "float32[2, 9]"}
    assert record_of(Op.get("exp"), [Case(data)]) == {"data": "gather"}
    assert record_of(Op.get("floor"), [Case(data)]) == {"data": "zero"}
    assert record_of(Op.get("softmax"), [Case(data)]) == {"data": "override"}
    for columns, kind in ((2, "gather"), (3, "update")):  # windows alike, and of several sizes
        case = Case({"data": "float32[1, 1, 8, 8]"}, {"output_size": (2, columns)})
        assert record_of(Op.get("adaptive_max_pool2d"), [case]) == {"data": kind}
    assert record_of(Op.get("add"), [Case({"lhs": "int32[2]", "rhs": "int32[2]"})]) == {}
    (kind,) = record_of(Op.get("unique"), [Case({"data": "float32[8]"})]).values()
    assert kind.startswith("none: an element of out is that of all equal ones; take the data at indices")


@pytest.mark.parametrize(
    ("name", "inputs", "attrs"),
    [
        ("cumsum", {"data": "float64[2, 1]"}, {"axis": 1}),
        ("cumprod", {"data": "float64[2, 1]"}, {"axis": -1}),
        ("rnn", {"x": "float64[1, 2, 3]", "w": "float64[2, 3]", "r": "float64[2, 2]"}, {}),
        ("gru", {"x": "float64[1, 2, 3]", "w": "float64[6, 3]", "r": "float64[6, 2]"}, {}),
    ],
)
def test_recurrences_of_one_step(name: str, inputs: dict[str, str], attrs: dict[str, object]) -> None:
    op = Op.get(name)
    check_grad(op, Case(inputs, attrs))
    assert set(record_of(op, [Case(inputs, attrs)]).values()) <= {"gather", "update", "zero"}
