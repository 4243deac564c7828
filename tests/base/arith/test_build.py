"""Constructors: dtypes, folding, identities; folding means what evaluation means."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgen_runtime.base import arith
from opgen_runtime.base.arith import Const, Var, add, cast, const, evaluate_scalar, select, to_text
from opgen_runtime.base.errors import CallError, DTypeError
from opgen_runtime.base.vocabulary import FLOAT32, INDEX, INT8, INT32, INT64, UINT64, DType


def var(name: str, dtype: DType = INDEX) -> Var:
    return Var(dtype, name)


def test_identities_are_dropped() -> None:
    i = var("i")
    assert add(i, 0) is i
    assert i * 1 is i
    assert to_text(i * 0) == "0"
    assert to_text(i + 1 + 2 - 3) == "i"
    assert to_text((i + 5) - 7) == "i - 2"
    assert to_text(i * 2 * 3) == "i * 6"
    assert to_text(i // 0) == "0"
    assert i // 1 is i
    assert arith.minimum(i, i) is i
    assert to_text(arith.lt(i, i)) == "False"


def test_float_zero_keeps_its_sign() -> None:
    x = var("x", FLOAT32)
    assert to_text(x + 0.0) == "x + 0.0"
    assert x - 0.0 is x
    assert to_text(x * 0.0) == "x * 0.0"
    assert to_text(-x) == "x * -1.0"


def test_powers_of_few_are_products() -> None:
    """So that squares are summed like other products, and cost no logarithm."""
    x = var("x", FLOAT32)
    assert arith.call("pow", x, 1.0) is x
    assert to_text(arith.call("pow", x, 2.0)) == "x * x"
    assert to_text(arith.call("pow", x, 3.0)) == "x * x * x"
    assert to_text(arith.call("pow", x, 4.0)) == "x * x * (x * x)"
    assert to_text(arith.call("pow", x, 0.5)) == "pow(x, 0.5)", "of -0 and -inf it is no square root"
    assert to_text(arith.call("pow", x, -1.0)) == "pow(x, -1.0)"


def test_weak_numbers_take_the_other_dtype() -> None:
    assert (var("x", FLOAT32) + 1).dtype is FLOAT32
    assert (var("n", INT8) + 1).dtype is INT8
    with pytest.raises(DTypeError, match="300 does not fit int8"):
        var("n", INT8) + 300
    with pytest.raises(DTypeError, match=r"float \(0.5\) does not suit dtype int8; cast"):
        var("n", INT8) + 0.5
    with pytest.raises(DTypeError, match="bool"):
        var("x", FLOAT32) + True


def test_index_meets_ints_in_int64() -> None:
    assert (var("i") + var("n", INT32)).dtype is INT64
    with pytest.raises(DTypeError, match="cannot add index and uint64: dtypes never mix silently; use cast"):
        var("i") + var("n", UINT64)
    with pytest.raises(DTypeError, match=r"cannot add int32 and float32.*cast\(..., float32\)"):
        var("n", INT32) + var("x", FLOAT32)


def test_division_of_ints_needs_a_choice() -> None:
    with pytest.raises(DTypeError, match="/ needs floats, found int32; use //"):
        var("n", INT32) / 2


def test_calls_check_name_count_and_dtype() -> None:
    with pytest.raises(CallError, match="unknown intrinsic 'expo'"):
        arith.call("expo", var("x", FLOAT32))
    with pytest.raises(CallError, match="pow takes 2 arguments, found 1"):
        arith.call("pow", var("x", FLOAT32))
    with pytest.raises(DTypeError, match="exp needs a float, found int32; use cast"):
        arith.call("exp", var("n", INT32))
    assert arith.call("isnan", var("x", FLOAT32)).dtype == "bool"


def test_casts_that_keep_values_collapse() -> None:
    n = var("n", INT32)
    assert to_text(cast(cast(n, INT64), INDEX)) == "cast(n, index)"
    assert cast(cast(n, INT64), INT32) is n
    assert to_text(cast(cast(n, INT8), INT32)) == "cast(cast(n, int8), int32)"


@pytest.mark.parametrize(
    ("value", "source", "dtype", "expected"),
    [
        (300, INT32, INT8, 44),
        (3.9, FLOAT32, INT32, 3),
        (-3.9, FLOAT32, INT32, -3),
        (1e10, FLOAT32, INT32, 2**31 - 1),
        (-math.inf, FLOAT32, INT8, -128),
        (math.nan, FLOAT32, INT8, 0),
        (-1.0, FLOAT32, DType("uint8"), 0),
        (0.1, FLOAT32, DType("bool"), True),
        (math.nan, FLOAT32, DType("bool"), True),
        (16777217, INT32, FLOAT32, 16777216.0),
        (2**63 - 1, INT64, FLOAT32, 2.0**63),
        ((1 << 62) + (1 << 38) + 1, INT64, FLOAT32, 2.0**62 + 2.0**39),
    ],
)
def test_casts_fold_totally(value: float, source: DType, dtype: DType, expected: float) -> None:
    folded = cast(const(value, source), dtype)
    assert isinstance(folded, Const)
    assert folded.value == expected
    assert type(folded.value) is type(expected)


INTS = st.sampled_from([INT8, INT32, INT64, DType("uint8"), UINT64])
OPS = [
    "add",
    "sub",
    "mul",
    "floordiv",
    "floormod",
    "truncdiv",
    "truncmod",
    "minimum",
    "maximum",
    "bit_and",
    "bit_or",
    "bit_xor",
    "shift_left",
    "shift_right",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
]


@given(st.data(), INTS, st.sampled_from(OPS))
def test_folding_is_evaluation(data: st.DataObject, dtype: DType, op: str) -> None:
    values = st.integers(int(dtype.lowest), int(dtype.highest)) | st.integers(0, 9)
    a, b = data.draw(values), data.draw(values)
    build = getattr(arith, op)
    x, y = var("x", dtype), var("y", dtype)
    expected = evaluate_scalar(build(x, y), {x: a, y: b})
    assert evaluate_scalar(build(const(a, dtype), const(b, dtype)), {}) == expected
    assert evaluate_scalar(build(x, const(b, dtype)), {x: a}) == expected
    assert evaluate_scalar(build(const(a, dtype), y), {y: b}) == expected


def test_select_is_lazy_in_evaluation() -> None:
    i = var("i")
    table = arith.Table(INDEX, (7, 8), i)
    guarded = select(arith.lt(i, 2), table, -1)
    assert [evaluate_scalar(guarded, {i: k}) for k in (0, 1, 2)] == [7, 8, -1]
