"""Every operation on every dtype, scalar and vector, against the reference evaluation of expressions."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime.base import arith
from opgen_runtime.base.arith import Binary, Bitcast, Call, Cast, Compare, Const, Not, Select, Table
from opgen_runtime.base.arith.semantics import binary, compare, complement, convert
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import BOOL, DTYPES, INDEX, DType

INTS = [d for d in DTYPES if DType(d).is_int]
FLOATS = ["float32", "float64"]
LANES = [1, 8, 16]
INT_OPS = [
    "add",
    "sub",
    "mul",
    "floordiv",
    "floormod",
    "truncdiv",
    "truncmod",
    "min",
    "max",
    "and",
    "or",
    "xor",
]
COMPARISONS = ["lt", "le", "gt", "ge", "eq", "ne"]


def interesting(dtype: str) -> np.ndarray:
    """Values where operations go wrong."""
    d = DType(dtype)
    if d.is_bool:
        return np.array([False, True])
    if d.is_float:
        values = [0.0, -0.0, 1.0, -1.0, 0.1, -7.5, 2.5, 3.5, 1e10, -3e38, np.inf, -np.inf, np.nan, 1e-40]
        return np.array(values).astype(dtype)
    low, high = int(d.lowest), int(d.highest)
    values = {low, low + 1, 0, 1, 2, 3, 7, 10, 13, high - 1, high, *((-1, -2, -3, -7, -10) if low else ())}
    return np.array(sorted(values), dtype)


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    values = interesting(dtype)
    a, b = np.meshgrid(values, values)
    return a.ravel(), b.ravel()


def assert_same(actual: np.ndarray, expected: list[object]) -> None:
    """Equal values; NaN where NaN is expected; the sign of zero counts."""
    with np.errstate(over="ignore"):
        wanted = np.array(expected, actual.dtype)
    np.testing.assert_array_equal(actual, wanted)
    if actual.dtype.kind == "f":
        real = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(actual)[real], np.signbit(wanted)[real])


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", INTS)
def test_integer_operations_are_total_and_wrap(build, dtype, lanes):
    a, b = pairs(dtype)
    d = DType(dtype)
    for op in (*INT_OPS, "shl", "shr"):
        actual = build.elementwise(lambda x, y, op=op: Binary(d, op, x, y), a, b, lanes=lanes)
        assert_same(actual, [binary(op, d, x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("lanes", [1, 8])
def test_division_and_shifts_by_constants(build, dtype, lanes):
    a = interesting(dtype)
    d = DType(dtype)
    divisors = [0, 1, 2, 3, 7, 8] + ([-1, -2, -3, int(d.lowest)] if d.is_signed else [int(d.highest)])
    for divisor in divisors:
        for op in ("floordiv", "floormod", "truncdiv", "truncmod", "shl", "shr"):
            constant = Const(d, divisor)
            actual = build.elementwise(lambda x, op=op, c=constant: Binary(d, op, x, c), a, lanes=lanes)
            assert_same(actual, [binary(op, d, x, divisor) for x in a.tolist()])


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_operations(build, dtype, lanes):
    a, b = pairs(dtype)
    d = DType(dtype)
    for op in ("add", "sub", "mul", "div", "min", "max", "floordiv", "floormod", "truncdiv", "truncmod"):
        actual = build.elementwise(lambda x, y, op=op: Binary(d, op, x, y), a, b, lanes=lanes)
        expected = [binary(op, d, x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        if op in ("min", "max"):  # which of -0.0 and 0.0 is less is not said
            np.testing.assert_array_equal(actual, np.array(expected, dtype))
        else:
            assert_same(actual, expected)


@pytest.mark.parametrize("constant", [0.0, -1.0, 3.0, float("nan")])
@pytest.mark.parametrize("lanes", [1, 16])
def test_minimum_and_maximum_with_a_constant_keep_nan(build, constant, lanes):
    a = interesting("float32")
    c = Const(DType("float32"), constant)
    for op, reference in (("min", np.minimum), ("max", np.maximum)):
        for swap in (False, True):

            def function(x, op=op, swap=swap):
                return Binary(x.dtype, op, *((c, x) if swap else (x, c)))

            np.testing.assert_array_equal(
                build.elementwise(function, a, lanes=lanes), reference(a, np.float32(constant))
            )


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", ["bool", *INTS, *FLOATS])
def test_comparisons(build, dtype, lanes):
    a, b = pairs(dtype)
    for op in COMPARISONS:
        actual = build.elementwise(lambda x, y, op=op: Compare(BOOL, op, x, y), a, b, lanes=lanes)
        assert actual.dtype == np.bool_
        assert actual.tolist() == [compare(op, x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]


@pytest.mark.parametrize("lanes", [1, 16])
def test_operations_of_bools(build, lanes):
    a, b = pairs("bool")
    for op, reference in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
        actual = build.elementwise(lambda x, y, op=op: Binary(BOOL, op, x, y), a, b, lanes=lanes)
        np.testing.assert_array_equal(actual, reference(a, b))
    np.testing.assert_array_equal(build.elementwise(lambda x: Not(BOOL, x), a, lanes=lanes), ~a)


@pytest.mark.parametrize("dtype", INTS)
def test_complement(build, dtype):
    a = interesting(dtype)
    d = DType(dtype)
    actual = build.elementwise(lambda x: Not(d, x), a, lanes=8)
    assert_same(actual, [complement(d, x) for x in a.tolist()])


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("source", ["bool", *INTS, *FLOATS])
def test_casts_are_total(build, source, lanes):
    a = interesting(source)
    for result in ("bool", *INTS, *FLOATS):
        d = DType(result)
        actual = build.elementwise(lambda x, d=d: Cast(d, x), a, lanes=lanes)
        with np.errstate(over="ignore"):
            expected = [convert(x, DType(source), d) for x in a.tolist()]
        assert_same(actual, expected)


def test_bitcast_keeps_bits(build):
    a = interesting("float32")
    actual = build.elementwise(lambda x: Bitcast(DType("uint32"), x), a, lanes=16)
    np.testing.assert_array_equal(actual, a.view(np.uint32))
    back = build.elementwise(lambda x: Bitcast(DType("float32"), x), a.view(np.int32), lanes=1)
    np.testing.assert_array_equal(back.view(np.uint32), a.view(np.uint32))


@pytest.mark.parametrize("lanes", [1, 16])
def test_native_functions(build, lanes):
    a = interesting("float32")
    with np.errstate(invalid="ignore"):
        cases = {
            "sqrt": np.sqrt(a), "floor": np.floor(a), "ceil": np.ceil(a), "trunc": np.trunc(a),
            "round": np.rint(a), "abs": np.abs(a), "sign": np.sign(a),
        }  # fmt: skip
    for name, expected in cases.items():
        actual = build.elementwise(lambda x, name=name: Call(x.dtype, name, (x,)), a, lanes=lanes)
        assert_same(actual, list(expected))
    for name, reference in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        actual = build.elementwise(lambda x, name=name: Call(BOOL, name, (x,)), a, lanes=lanes)
        np.testing.assert_array_equal(actual, reference(a))


@pytest.mark.parametrize("dtype", INTS)
def test_integer_functions(build, dtype):
    a = interesting(dtype)
    bits = DType(dtype).bits
    unsigned = [int(v) % (1 << bits) for v in a]
    with np.errstate(over="ignore"):
        cases = {
            "abs": np.abs(a).tolist(),
            "sign": np.sign(a).tolist(),
            "popcount": [v.bit_count() for v in unsigned],
            "clz": [bits - v.bit_length() for v in unsigned],
        }
    for name, expected in cases.items():
        actual = build.elementwise(lambda x, name=name: Call(x.dtype, name, (x,)), a, lanes=8)
        assert_same(actual, expected)


@pytest.mark.parametrize("lanes", [1, 16])
def test_select_and_table(build, lanes):
    a = np.arange(-20, 20, dtype=np.int32)
    zero = Const(DType("int32"), 0)

    def relu(x):
        return Select(x.dtype, Compare(BOOL, "gt", x, zero), x, zero)

    np.testing.assert_array_equal(build.elementwise(relu, a, lanes=lanes), np.maximum(a, 0))

    values = tuple(float(v) / 8 for v in range(7))

    def lookup(x):
        return Table(DType("float32"), values, arith.floormod(arith.cast(x, INDEX), 7))

    np.testing.assert_array_equal(
        build.elementwise(lookup, a, lanes=lanes), np.array(values, np.float32)[a % 7]
    )


@pytest.mark.parametrize("features", ["+sse2", "+avx,+avx2,+sse4.2"])
def test_smaller_machines(build, features):
    """The same results with narrow registers and no FMA."""
    target = Target.parse(f"llvm -mcpu=x86-64 -mattr={features}")
    a, b = pairs("int32")
    d = DType("int32")
    actual = build.elementwise(lambda x, y: Binary(d, "floormod", x, y), a, b, lanes=8, target=target)
    assert_same(actual, [binary("floormod", d, x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])
    floats = interesting("float32")
    actual = build.elementwise(lambda x: Call(x.dtype, "floor", (x,)), floats, lanes=8, target=target)
    assert_same(actual, list(np.floor(floats)))
    actual = build.elementwise(lambda x: Cast(DType("int32"), x), floats, lanes=8, target=target)
    assert_same(actual, [convert(x, DType("float32"), DType("int32")) for x in floats.tolist()])


ALL_HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


@pytest.mark.parametrize("lanes", [1, 16])
def test_float16_is_rounded_once(build, lanes):
    """All float16 values to float32 and back; float64 values between float16 neighbours round once."""
    d = DType("float16")
    wide = build.elementwise(lambda x: Cast(DType("float32"), x), ALL_HALVES, lanes=lanes)
    np.testing.assert_array_equal(wide, ALL_HALVES.astype(np.float32))
    np.testing.assert_array_equal(build.elementwise(lambda x: Cast(d, x), wide, lanes=lanes), ALL_HALVES)
    one = 1.0 + 2.0**-11 + np.array([-1, 0, 1]) * 2.0**-40
    values = np.concatenate([one, -one, one * 2.0**-20, [65519.99, 65520.0, 1e300, np.nan]])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    np.testing.assert_array_equal(build.elementwise(lambda x: Cast(d, x), values, lanes=lanes), expected)


@pytest.mark.parametrize("lanes", [1, 16])
def test_float16_arithmetic_runs_in_float32(build, lanes):
    d = DType("float16")
    a = np.array([1.0, -2.5, 60000.0, 1e-7, np.inf, np.nan, 0.1], np.float16)
    b = np.array([3.0, 0.3, 60000.0, 1e-7, 1.0, 1.0, 0.2], np.float16)
    wide_a, wide_b = a.astype(np.float32), b.astype(np.float32)
    with np.errstate(over="ignore"):
        cases = {"add": wide_a + wide_b, "mul": wide_a * wide_b, "max": np.maximum(wide_a, wide_b)}
        for op, expected in cases.items():
            actual = build.elementwise(lambda x, y, op=op: Binary(d, op, x, y), a, b, lanes=lanes)
            np.testing.assert_array_equal(actual, expected.astype(np.float16))
    less = build.elementwise(lambda x, y: Compare(BOOL, "lt", x, y), a, b, lanes=lanes)
    np.testing.assert_array_equal(less, a < b)
    to_int = build.elementwise(lambda x: Cast(DType("int8"), x), a, lanes=lanes)
    np.testing.assert_array_equal(to_int, [1, -2, 127, 0, 127, 0, 0])
